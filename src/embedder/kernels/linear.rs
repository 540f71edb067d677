//! Linear layers in float32 whose weights stay 16-bit in memory.
//!
//! A task computes one strip of columns: it decodes the strip's weights, once, and multiplies every
//! row of the input with them, a tile of rows at a time, whose sums stay in registers.

#[cfg(test)]
mod tests;

use std::cell::RefCell;

use pulp::{Simd, WithSimd};

use super::{SharedSlice, dispatch, gelu};

/// Columns that lie together in storage.
pub const PANEL: usize = 16;

/// Columns of a task; a full tile of the widest registers is as wide.
const STRIP: usize = 3 * PANEL;

/// A linear layer with what follows it in the encoder: `gelu?(x W + bias + residual)`.
#[derive(Clone, Copy)]
pub struct Linear<'a> {
    weight: &'a [i16],
    scale: &'a [f32],
    bias: &'a [f32],
    residual: Option<&'a [f32]>,
    gelu: bool,
}

/// What a layer is made of. `columns` is the length of `scale`.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// \[columns / 16, depth, 16\]: panels of 16 columns. The weight is this times `scale`.
    pub weight: &'a [i16],
    /// \[columns\]
    pub scale: &'a [f32],
    /// \[columns\]
    pub bias: &'a [f32],
    /// \[rows, columns\]
    pub residual: Option<&'a [f32]>,
    pub gelu: bool,
}

impl<'a> Linear<'a> {
    /// The layer, for an input of `rows` rows; `None` if the shapes do not fit each other.
    pub fn new(parts: Parts<'a>, rows: usize) -> Option<Self> {
        let Parts { weight, scale, bias, residual, gelu } = parts;
        let columns = scale.len();
        let fits = columns > 0
            && columns.is_multiple_of(PANEL)
            && !weight.is_empty()
            && weight.len().is_multiple_of(columns)
            && bias.len() == columns
            && residual.is_none_or(|residual| residual.len() == rows * columns);
        fits.then_some(Self { weight, scale, bias, residual, gelu })
    }

    /// The length of a row of the input.
    pub fn depth(&self) -> usize {
        self.weight.len() / self.columns()
    }

    /// The length of a row of the output.
    pub fn columns(&self) -> usize {
        self.scale.len()
    }

    /// How many tasks there are.
    pub fn tasks(&self) -> usize {
        self.columns().div_ceil(STRIP)
    }

    /// Does one task: `x` \[rows, depth\] to some columns of `y` \[rows, columns\].
    ///
    /// # Panics
    ///
    /// The lengths of `x` and `y` do not fit.
    ///
    /// # Safety
    ///
    /// No other thread does the same one meanwhile.
    pub unsafe fn run(&self, task: usize, x: &[f32], y: &SharedSlice<f32>) {
        DECODED.with_borrow_mut(|decoded| dispatch(self.strip(task, x, y, decoded)));
    }

    fn strip<'s>(
        &'s self,
        task: usize,
        x: &'s [f32],
        y: &'s SharedSlice<f32>,
        decoded: &'s mut Vec<Line>,
    ) -> Strip<'s> {
        assert_eq!(x.len() * self.columns(), y.len() * self.depth());
        decoded.resize(decoded.len().max(self.depth() * STRIP / PANEL), Line([0.0; PANEL]));
        let first = task * STRIP;
        let end = self.columns().min(first + STRIP);
        Strip { linear: *self, x, y, first, end, decoded }
    }
}

/// Aligned as the widest registers like it.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; PANEL]);

thread_local! {
    static DECODED: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// The columns from `first` to `end`.
struct Strip<'a> {
    linear: Linear<'a>,
    x: &'a [f32],
    y: &'a SharedSlice<'a, f32>,
    first: usize,
    end: usize,
    decoded: &'a mut [Line],
}

impl WithSimd for Strip<'_> {
    type Output = ();

    // Plain loops in here and below: closures are not compiled for the registers at hand.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        while self.first < self.end {
            let full = self.end - self.first >= STRIP;
            // Tiles that fit the registers: rows × vectors of sums, a row of weights, a number.
            self.first += PANEL
                * match S::F32_LANES {
                    16 if full => self.panels::<S, 3, 8, 3>(simd),
                    16 => self.panels::<S, 1, 8, 1>(simd),
                    8 => self.panels::<S, 1, 6, 2>(simd),
                    4 => self.panels::<S, 1, 6, 4>(simd),
                    _ => self.panels::<S, 1, 2, 16>(simd),
                };
        }
    }
}

impl Strip<'_> {
    /// `P` panels, in tiles of `R` rows and `V` vectors; gives `P`.
    #[inline(always)]
    fn panels<S: Simd, const P: usize, const R: usize, const V: usize>(
        &mut self,
        simd: S,
    ) -> usize {
        let size = self.linear.depth() * PANEL;
        let at = self.first / PANEL * size;
        let weight = &self.linear.weight[at..at + P * size];
        // SAFETY: a line is sixteen numbers without padding.
        let decoded =
            unsafe { std::slice::from_raw_parts_mut(self.decoded.as_mut_ptr().cast(), P * size) };
        decode(weight, decoded);
        let (decoded, _) = S::as_simd_f32s(decoded);
        let rows = self.x.len() / self.linear.depth();
        let mut row = 0;
        while row + R <= rows {
            self.tile::<S, P, R, V>(simd, decoded, row);
            row += R;
        }
        if R > 4 && row + 4 <= rows {
            self.tile::<S, P, 4, V>(simd, decoded, row);
            row += 4;
        }
        if R > 2 && row + 2 <= rows {
            self.tile::<S, P, 2, V>(simd, decoded, row);
            row += 2;
        }
        while row < rows {
            self.tile::<S, P, 1, V>(simd, decoded, row);
            row += 1;
        }
        P
    }

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "loops that the compiler takes to registers")]
    fn tile<S: Simd, const P: usize, const R: usize, const V: usize>(
        &self,
        simd: S,
        decoded: &[S::f32s],
        row: usize,
    ) {
        let depth = self.linear.depth();
        let x = &self.x[row * depth..][..R * depth];
        let decoded = &decoded[..depth * V];
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for k in 0..depth {
            let mut weights = [simd.splat_f32s(0.0); V];
            for v in 0..V {
                // The panels lie one after another; `V / P` vectors are a line of one.
                let (panel, in_panel) = (v / (V / P), v % (V / P));
                // SAFETY: panel < P and k < depth, so this is below P * depth * V / P, the length.
                // Checked accesses cost a third of the speed.
                weights[v] =
                    unsafe { *decoded.get_unchecked((panel * depth + k) * (V / P) + in_panel) };
            }
            for r in 0..R {
                // SAFETY: r < R and k < depth, and the length is R * depth.
                let x = simd.splat_f32s(unsafe { *x.get_unchecked(r * depth + k) });
                for v in 0..V {
                    sums[r][v] = simd.mul_add_e_f32s(x, weights[v], sums[r][v]);
                }
            }
        }
        for r in 0..R {
            self.finish(simd, row + r, &sums[r]);
        }
    }

    /// Scale, bias, residual and activation of one row.
    #[inline(always)]
    fn finish<S: Simd, const V: usize>(&self, simd: S, row: usize, sums: &[S::f32s; V]) {
        let Linear { scale, bias, residual, gelu: is_gelu, .. } = self.linear;
        let width = V * S::F32_LANES;
        let columns = self.first..self.first + width;
        let at = row * self.linear.columns() + self.first;
        // SAFETY: these columns belong to this task alone.
        let (y, _) = S::as_mut_simd_f32s(unsafe { self.y.part(at..at + width) });
        let (scale, _) = S::as_simd_f32s(&scale[columns.clone()]);
        let (bias, _) = S::as_simd_f32s(&bias[columns]);
        for v in 0..V {
            y[v] = simd.mul_add_e_f32s(sums[v], scale[v], bias[v]);
        }
        if let Some(residual) = residual {
            let (residual, _) = S::as_simd_f32s(&residual[at..at + width]);
            for v in 0..V {
                y[v] = simd.add_f32s(y[v], residual[v]);
            }
        }
        if is_gelu {
            for y in y {
                *y = gelu(simd, *y);
            }
        }
    }
}

#[inline(always)]
fn decode(weight: &[i16], decoded: &mut [f32]) {
    for (to, from) in decoded.iter_mut().zip(weight) {
        *to = f32::from(*from);
    }
}
