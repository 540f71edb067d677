//! Linear layers: rows of bytes with the columns of a weight.

use std::marker::PhantomData;

use pulp::Simd;

use super::{
    Aligned, Rows,
    functions_i8::gelu,
    tile::{Tile, registers_of, sums, tiles},
};
use crate::kernels::{
    LinearParts, PANEL,
    arch::{Floats, Integers, ROUNDING, Registers, Work},
};

const LARGEST: f32 = 127.0;

/// A weight in integers, rotated as the rows that it is multiplied with.
pub struct Columns {
    /// \[columns / 16, depth / 4, 16, 4\]
    integers: Aligned<i8>,
    /// \[columns\]: what a sum begins with, so that [`Registers::ZERO`] cancels out.
    start: Aligned<i32>,
    /// \[columns\]
    scale: Aligned<f32>,
    depth: usize,
}

impl Columns {
    /// Rounds the weight of a layer, rotated in blocks of `block` of its inputs, to integers for rows of the
    /// registers `R`.
    ///
    /// # Panics
    ///
    /// The shapes do not fit, or the depth is no multiple of 4 and of `block`.
    pub fn new<R: Registers>(registers: R, parts: LinearParts, block: usize) -> Self {
        let (columns, depth) = (parts.scale.len(), parts.weight.len() / parts.scale.len());
        assert!(depth.is_multiple_of(block) && depth.is_multiple_of(4) && block <= 512);
        assert!(parts.weight.len() == depth * columns && columns.is_multiple_of(PANEL));
        let integers = Aligned::zeros(depth * columns);
        let (start, scale) = (Aligned::zeros(columns), Aligned::zeros(columns));
        let mut made = Self { integers, start, scale, depth };
        registers.call(Round { parts, block, made: &mut made });
        made
    }

    /// Returns the length of a row that it is multiplied with.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the length of a row of the product.
    pub fn count(&self) -> usize {
        self.scale.len()
    }
}

struct Round<'a> {
    parts: LinearParts<'a>,
    block: usize,
    made: &'a mut Columns,
}

impl Work for Round<'_> {
    #[inline(always)]
    fn run<R: Registers>(self, registers: R) {
        let simd = registers.simd();
        let rounding = simd.splat_f32s(ROUNDING);
        let (byte_bits, low_byte) = (simd.splat_u32s(u8::BITS), simd.splat_u32s(0xff));
        let Columns { integers, start, scale, depth } = self.made;
        let mut rotated = vec![[0.0_f32; PANEL]; *depth];
        let panels = self.parts.weight.chunks_exact(*depth * PANEL);
        for ((panel, weight), integers) in
            panels.enumerate().zip(integers.chunks_exact_mut(*depth * PANEL))
        {
            let mut greatest = [0.0_f32; PANEL];
            let blocks = weight.as_chunks::<PANEL>().0.chunks_exact(self.block);
            for (rotated, weight) in rotated.chunks_exact_mut(self.block).zip(blocks) {
                for (to, from) in rotated.as_flattened_mut().iter_mut().zip(weight.as_flattened()) {
                    *to = f32::from(*from);
                }
                rotate(rotated);
                for row in rotated {
                    for (greatest, x) in greatest.iter_mut().zip(row) {
                        let size = x.abs();
                        *greatest = if size > *greatest { size } else { *greatest };
                    }
                }
            }
            let mut inverse = [0.0; PANEL];
            let first = panel * PANEL;
            for i in 0..PANEL {
                inverse[i] = if greatest[i] > 0.0 { LARGEST / greatest[i] } else { 0.0 };
                // The product of rotated factors is `block` times that of the factors.
                let mean = greatest[i] / self.block as f32;
                scale[first + i] = self.parts.scale[first + i] * mean / LARGEST;
            }
            let (inverse, _) = R::Simd::as_simd_f32s(&inverse);
            // Whole numbers: exact as well.
            let mut sums = [0.0; PANEL];
            let (register_sums, _) = R::Simd::as_mut_simd_f32s(&mut sums);
            for (four, rows) in integers.chunks_exact_mut(4 * PANEL).zip(rotated.chunks_exact(4)) {
                let (words, _) = R::Simd::as_mut_simd_u32s(bytemuck::cast_slice_mut(four));
                for i in 0..words.len() {
                    let mut word = simd.splat_u32s(0);
                    // Little-endian: the last row is the high byte.
                    for row in rows.iter().rev() {
                        let (row, _) = R::Simd::as_simd_f32s(row);
                        // Within ±127 after this, in the low bits.
                        let shifted = simd.add_f32s(simd.mul_f32s(row[i], inverse[i]), rounding);
                        let integer = simd.sub_f32s(shifted, rounding);
                        register_sums[i] = simd.add_f32s(register_sums[i], integer);
                        let byte = simd.and_u32s(simd.transmute_u32s_f32s(shifted), low_byte);
                        word = simd.or_u32s(simd.wrapping_dyn_shl_u32s(word, byte_bits), byte);
                    }
                    words[i] = word;
                }
            }
            for i in 0..PANEL {
                start[first + i] = -i32::from(R::ZERO) * sums[i] as i32;
            }
        }
    }
}

/// Rotates each column of a block, a power of two rows, times the root of their number. Sums of up to 512
/// integers of 16 bits: exact in float32.
#[inline(always)]
fn rotate(block: &mut [[f32; PANEL]]) {
    let mut half = block.len() / 2;
    while half > 0 {
        for pair in block.chunks_exact_mut(2 * half) {
            let (a, b) = pair.split_at_mut(half);
            for k in 0..half {
                for i in 0..PANEL {
                    (a[k][i], b[k][i]) = (a[k][i] + b[k][i], a[k][i] - b[k][i]);
                }
            }
        }
        half /= 2;
    }
}

/// What is done to a number of a product.
pub trait After {
    /// Returns what is written where `before` is now.
    fn after<R: Registers, const N: usize>(
        registers: R,
        numbers: [Floats<R>; N],
        before: [Floats<R>; N],
    ) -> [Floats<R>; N];
}

/// The product itself.
pub struct Set;

impl After for Set {
    #[inline(always)]
    fn after<R: Registers, const N: usize>(
        _: R,
        numbers: [Floats<R>; N],
        _: [Floats<R>; N],
    ) -> [Floats<R>; N] {
        numbers
    }
}

/// The sum with what is there.
pub struct Add;

impl After for Add {
    #[inline(always)]
    fn after<R: Registers, const N: usize>(
        registers: R,
        numbers: [Floats<R>; N],
        before: [Floats<R>; N],
    ) -> [Floats<R>; N] {
        let mut sums = numbers;
        for i in 0..N {
            sums[i] = registers.simd().add_f32s(numbers[i], before[i]);
        }
        sums
    }
}

/// GELU of the product.
pub struct Gelu;

impl After for Gelu {
    #[inline(always)]
    fn after<R: Registers, const N: usize>(
        registers: R,
        numbers: [Floats<R>; N],
        _: [Floats<R>; N],
    ) -> [Floats<R>; N] {
        gelu(registers, numbers)
    }
}

/// The product of rows with columns, plus a bias, and what comes after.
pub struct Multiply<'a, A> {
    rows: Rows<'a>,
    columns: &'a Columns,
    bias: &'a [f32],
    y: &'a mut [f32],
    after: PhantomData<A>,
}

impl<'a, A: After> Multiply<'a, A> {
    /// Returns the product of `rows` with `columns`, plus `bias`, to be written to `y` \[rows, columns\].
    ///
    /// # Panics
    ///
    /// The shapes do not fit.
    pub fn new(rows: Rows<'a>, columns: &'a Columns, bias: &'a [f32], y: &'a mut [f32]) -> Self {
        assert!(rows.bytes.len() == rows.scale.len() * columns.depth);
        assert!(bias.len() == columns.count() && y.len() == rows.scale.len() * columns.count());
        Self { rows, columns, bias, y, after: PhantomData }
    }
}

impl<A: After> Work for Multiply<'_, A> {
    #[inline(always)]
    fn run<R: Registers>(mut self, registers: R) {
        tiles(registers, self.rows.scale.len(), self.columns.count() / PANEL, &mut self);
    }
}

impl<A: After> Tile for Multiply<'_, A> {
    #[inline(always)]
    fn tile<B: Registers, const R: usize, const V: usize>(
        &mut self,
        registers: B,
        row: usize,
        panel: usize,
    ) {
        let simd = registers.simd();
        let (depth, count) = (self.columns.depth, self.columns.count());
        let width = V * B::Simd::F32_LANES;
        let first = panel * PANEL;
        let start = registers_of::<Integers<B>, _, V>(&self.columns.start[first..first + width]);
        let rows = &self.rows.bytes[row * depth..(row + R) * depth];
        let columns = &self.columns.integers[first * depth..];
        // SAFETY: `new` has checked the lengths.
        let sums = unsafe {
            sums::<B, R, V, 24>(
                registers,
                (rows.as_ptr(), depth),
                columns.as_ptr().cast(),
                depth,
                start,
            )
        };
        let scale = registers_of::<Floats<B>, _, V>(&self.columns.scale[first..first + width]);
        let bias = registers_of::<Floats<B>, _, V>(&self.bias[first..first + width]);
        for (r, sums) in sums.into_iter().enumerate() {
            let row_scale = simd.splat_f32s(self.rows.scale[row + r]);
            let at = (row + r) * count + first;
            let (y, _) = B::Simd::as_mut_simd_f32s(&mut self.y[at..at + width]);
            let y = y.first_chunk_mut::<V>().expect("as many registers");
            let mut numbers = bias;
            for v in 0..V {
                let number = registers.numbers(sums[v]);
                numbers[v] = simd.mul_add_f32s(number, simd.mul_f32s(row_scale, scale[v]), bias[v]);
            }
            *y = A::after(registers, numbers, *y);
        }
    }
}
