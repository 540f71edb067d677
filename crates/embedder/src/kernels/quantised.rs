//! Linear layers in 8-bit integers: what stands before and after the product of integers.
//!
//! Rows and weights are rotated before they are rounded: a Hadamard transform of blocks, which
//! spreads the few large numbers of a row over many, so that the step between two integers gets
//! smaller. The product stays the same but for a factor, the size of the block.

mod rescale;
#[cfg(test)]
mod tests;

use pulp::Simd;

use super::{Kernel, ROWS, SharedSlice, linear::PANEL, rows_of};
pub use rescale::Rescale;

/// The integer that stands for 0 in a row; the others lie up to 127 from it.
pub const ZERO_POINT: u8 = 128;

const LARGEST: f32 = 127.0;

/// 2⁻¹⁰⁰. A row without a larger number is rounded as if it had one this large, because `LARGEST`
/// divided by a much smaller one overflows.
const LEAST: f32 = 7.888_609e-31;

/// Added to a number within ±2²², it leaves the nearest integer in the low bits.
const ROUNDING: f32 = 12_582_912.0;

/// Rows to unsigned 8-bit integers: `(q - 128) * scale` is about the rotated row.
pub struct QuantizeRows<'a> {
    x: &'a [f32],
    depth: usize,
    rotation: usize,
    q: SharedSlice<'a, u8>,
    scale: SharedSlice<'a, f32>,
}

impl<'a> QuantizeRows<'a> {
    /// From `x` \[rows, depth\] to `q` \[rows, depth\] and `scale` \[rows\], in blocks of the size
    /// `rotation`; `None` if the shapes do not fit.
    pub fn new(
        x: &'a [f32],
        rows: usize,
        rotation: usize,
        q: SharedSlice<'a, u8>,
        scale: SharedSlice<'a, f32>,
    ) -> Option<Self> {
        let depth = x.len().checked_div(rows)?;
        let fits = x.len() == rows * depth
            && q.len() == x.len()
            && scale.len() == rows
            && (1..=MAX_DEPTH).contains(&depth)
            && depth.is_multiple_of(PANEL)
            && can_rotate(depth, rotation);
        fits.then_some(Self { x, depth, rotation, q, scale })
    }
}

impl Kernel for QuantizeRows<'_> {
    fn tasks(&self) -> usize {
        self.scale.len().div_ceil(ROWS)
    }

    fn operations(&self) -> usize {
        4 * self.x.len()
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, simd: S, task: usize) {
        let Self { x, depth, rotation, q, scale } = self;
        let terms = *rotation as f32;
        let (mut rotated, mut integers) = ([0.0; MAX_DEPTH], [0; MAX_DEPTH]);
        let (rotated, integers) = (&mut rotated[..*depth], &mut integers[..*depth]);
        for row in rows_of(task, scale.len()) {
            // Divided first, so that no sum overflows; by a power of two, so that nothing is lost.
            let (x, _) = S::as_simd_f32s(&x[row * depth..][..*depth]);
            for (to, x) in S::as_mut_simd_f32s(rotated).0.iter_mut().zip(x) {
                *to = simd.mul_f32s(*x, simd.splat_f32s(1.0 / terms));
            }
            rotate(simd, rotated, *rotation);
            let (rotated, _) = S::as_simd_f32s(rotated);
            let greatest = greatest(simd, rotated);
            let inverse = simd.splat_f32s(LARGEST / greatest);
            let rounding = simd.splat_f32s(ROUNDING);
            let zero_point = simd.splat_u32s(u32::from(ZERO_POINT));
            for (to, x) in S::as_mut_simd_u32s(integers).0.iter_mut().zip(rotated) {
                let nearest = simd.mul_add_e_f32s(*x, inverse, rounding);
                *to = simd.add_u32s(simd.transmute_u32s_f32s(nearest), zero_point);
            }
            // SAFETY: the rows of a task are its own.
            let q = unsafe {
                scale.part(row..row + 1)[0] = greatest / LARGEST * terms;
                q.part(row * depth..(row + 1) * depth)
            };
            for (q, integer) in q.iter_mut().zip(integers.iter()) {
                *q = *integer as u8;
            }
        }
    }
}

/// The greatest magnitude, at least [`LEAST`]; NaN if one is NaN.
#[inline(always)]
fn greatest<S: Simd>(simd: S, row: &[S::f32s]) -> f32 {
    // As integers, of which those of NaN are the greatest.
    let mut lanes = [LEAST.to_bits(); PANEL];
    let (registers, _) = S::as_mut_simd_u32s(&mut lanes);
    let mut most = registers[0];
    for x in row {
        most = simd.max_u32s(most, simd.transmute_u32s_f32s(simd.abs_f32s(*x)));
    }
    registers[0] = most;
    let mut greatest = 0;
    for lane in lanes {
        greatest = lane.max(greatest);
    }
    f32::from_bits(greatest)
}

/// The longest row.
pub const MAX_DEPTH: usize = 1536;

/// Whether a row can be cut into blocks of this size, a power of two; 1 for no rotation.
fn can_rotate(depth: usize, size: usize) -> bool {
    size.is_power_of_two() && depth.is_multiple_of(size)
}

/// The Hadamard transform over the numbers that lie a block's part of the row apart.
#[inline(always)]
fn rotate<S: Simd>(simd: S, row: &mut [f32], size: usize) {
    let mut half = row.len() / 2;
    while size > 1 && half >= row.len() / size {
        let mut rest = &mut *row;
        while !rest.is_empty() {
            let (pair, after) = rest.split_at_mut(2 * half);
            let (a, b) = pair.split_at_mut(half);
            let (a, a_rest) = S::as_mut_simd_f32s(a);
            let (b, b_rest) = S::as_mut_simd_f32s(b);
            for (a, b) in a.iter_mut().zip(b) {
                (*a, *b) = (simd.add_f32s(*a, *b), simd.sub_f32s(*a, *b));
            }
            if !a_rest.is_empty() {
                let (x, y) = (simd.partial_load_f32s(a_rest), simd.partial_load_f32s(b_rest));
                simd.partial_store_f32s(a_rest, simd.add_f32s(x, y));
                simd.partial_store_f32s(b_rest, simd.sub_f32s(x, y));
            }
            rest = after;
        }
        half /= 2;
    }
}

/// Weights of a linear layer to signed 8-bit integers, a panel of columns at a time.
pub struct QuantizeWeights<'a> {
    weight: &'a [i16],
    scale: &'a [f32],
    rotation: usize,
    q: SharedSlice<'a, i8>,
    q_scale: SharedSlice<'a, f32>,
}

impl<'a> QuantizeWeights<'a> {
    /// From `weight` \[columns / 16, depth, 16\] with `scale` \[columns\] to `q` \[depth, columns\]
    /// with `q_scale` \[columns\], which is what a product of integers is to be multiplied with;
    /// `None` if the shapes do not fit. The rotation is that of the rows.
    pub fn new(
        weight: &'a [i16],
        scale: &'a [f32],
        rotation: usize,
        q: SharedSlice<'a, i8>,
        q_scale: SharedSlice<'a, f32>,
    ) -> Option<Self> {
        let columns = scale.len();
        let depth = weight.len().checked_div(columns)?;
        let fits = columns.is_multiple_of(PANEL)
            && depth > 0
            && weight.len() == depth * columns
            && can_rotate(depth, rotation)
            && rotation <= 512
            && q.len() == weight.len()
            && q_scale.len() == columns;
        fits.then_some(Self { weight, scale, rotation, q, q_scale })
    }
}

impl Kernel for QuantizeWeights<'_> {
    fn tasks(&self) -> usize {
        self.scale.len() / PANEL
    }

    fn operations(&self) -> usize {
        usize::MAX
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, simd: S, task: usize) {
        let Self { weight, scale, rotation, q, q_scale } = self;
        let columns = scale.len();
        let size = weight.len() / columns * PANEL;
        // Sums of up to 512 integers of 16 bits: exact in float32.
        let mut rotated: Vec<f32> = vec![0.0; size];
        for (to, from) in rotated.iter_mut().zip(&weight[task * size..]) {
            *to = f32::from(*from);
        }
        rotate(simd, &mut rotated, *rotation);
        let (rows, _) = rotated.as_chunks::<PANEL>();
        let mut greatest = [0.0_f32; PANEL];
        for row in rows {
            for i in 0..PANEL {
                greatest[i] = greatest[i].max(row[i].abs());
            }
        }
        let mut inverse = [0.0; PANEL];
        let first = task * PANEL;
        // SAFETY: the columns of a task are its own.
        let q_scale = unsafe { q_scale.part(first..first + PANEL) };
        for i in 0..PANEL {
            inverse[i] = if greatest[i] > 0.0 { LARGEST / greatest[i] } else { 0.0 };
            // The mean is no longer than a weight, so the product overflows only if weights do.
            q_scale[i] = scale[first + i] * (greatest[i] / *rotation as f32) / LARGEST;
        }
        for (index, row) in rows.iter().enumerate() {
            let at = index * columns + first;
            // SAFETY: as above.
            let q = unsafe { q.part(at..at + PANEL) };
            for i in 0..PANEL {
                q[i] = (row[i] * inverse[i] + ROUNDING).to_bits() as i8;
            }
        }
    }
}
