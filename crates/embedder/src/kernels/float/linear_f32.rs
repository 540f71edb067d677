//! Linear layers in float32 whose weights stay 16-bit in memory.
//!
//! A task computes one strip of columns: it decodes the strip's weights, once, and multiplies every
//! row of the input with them, a tile of rows at a time, whose sums stay in registers.

#[cfg(test)]
mod tests;

use std::cell::Cell;

use pulp::Simd;

use super::functions_f32::gelu;
use crate::kernels::{Kernel, SharedSlice};

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
    /// Whether GELU follows.
    pub gelu: bool,
}

impl<'a> Linear<'a> {
    /// Returns the layer, for an input of `rows` rows; `None` if the shapes do not fit each other.
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

    /// Returns the length of a row of the input.
    pub fn depth(&self) -> usize {
        self.weight.len() / self.columns()
    }

    /// Returns the length of a row of the output.
    pub fn columns(&self) -> usize {
        self.scale.len()
    }

    /// Returns the layer with an input `x` \[rows, depth\] and an output `y` \[rows, columns\];
    /// `None` if their lengths do not fit.
    pub fn over(self, x: &'a [f32], y: SharedSlice<'a, f32>) -> Option<Product<'a>> {
        let fits = x.len() * self.columns() == y.len() * self.depth();
        fits.then_some(Product { linear: self, x, y })
    }
}

/// The product of an input with a layer.
pub struct Product<'a> {
    linear: Linear<'a>,
    x: &'a [f32],
    y: SharedSlice<'a, f32>,
}

impl Kernel for Product<'_> {
    fn tasks(&self) -> usize {
        self.linear.columns().div_ceil(STRIP)
    }

    fn operations(&self) -> usize {
        self.x.len() * self.linear.columns() / 16
    }

    // Plain loops in here and below: closures are not compiled for the registers at hand.
    #[inline(always)]
    unsafe fn run<S: Simd>(&self, simd: S, task: usize) {
        let mut decoded = DECODED.take();
        decoded.resize(decoded.len().max(self.linear.depth() * STRIP / PANEL), Line([0.0; PANEL]));
        let mut first = task * STRIP;
        let end = self.linear.columns().min(first + STRIP);
        while first < end {
            let full = end - first >= STRIP;
            // Tiles that fit the registers: rows × vectors of sums, a row of weights, a number.
            first += PANEL
                * match S::F32_LANES {
                    16 if full => self.panels::<S, 3, 8, 3>(simd, first, &mut decoded),
                    16 => self.panels::<S, 1, 8, 1>(simd, first, &mut decoded),
                    8 => self.panels::<S, 1, 6, 2>(simd, first, &mut decoded),
                    4 => self.panels::<S, 1, 6, 4>(simd, first, &mut decoded),
                    _ => self.panels::<S, 1, 2, 16>(simd, first, &mut decoded),
                };
        }
        DECODED.set(decoded);
    }
}

/// Aligned as the widest registers like it.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; PANEL]);

thread_local! {
    /// The memory for the decoded weights of a task, kept for the next one.
    static DECODED: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

impl Product<'_> {
    /// `P` panels from the column `first` on, in tiles of `R` rows and `V` vectors; gives `P`.
    #[inline(always)]
    fn panels<S: Simd, const P: usize, const R: usize, const V: usize>(
        &self,
        simd: S,
        first: usize,
        decoded: &mut [Line],
    ) -> usize {
        let size = self.linear.depth() * PANEL;
        let at = first / PANEL * size;
        let weight = &self.linear.weight[at..at + P * size];
        let decoded = &mut decoded[..P * size / PANEL];
        // SAFETY: a line is sixteen numbers without padding.
        let decoded =
            unsafe { std::slice::from_raw_parts_mut(decoded.as_mut_ptr().cast(), P * size) };
        for (to, from) in decoded.iter_mut().zip(weight) {
            *to = f32::from(*from);
        }
        let (decoded, _) = S::as_simd_f32s(decoded);
        let rows = self.x.len() / self.linear.depth();
        let mut row = 0;
        while row + R <= rows {
            self.tile::<S, P, R, V>(simd, first, decoded, row);
            row += R;
        }
        if R > 4 && row + 4 <= rows {
            self.tile::<S, P, 4, V>(simd, first, decoded, row);
            row += 4;
        }
        if R > 2 && row + 2 <= rows {
            self.tile::<S, P, 2, V>(simd, first, decoded, row);
            row += 2;
        }
        while row < rows {
            self.tile::<S, P, 1, V>(simd, first, decoded, row);
            row += 1;
        }
        P
    }

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "loops that the compiler takes to registers")]
    fn tile<S: Simd, const P: usize, const R: usize, const V: usize>(
        &self,
        simd: S,
        first: usize,
        decoded: &[S::f32s],
        row: usize,
    ) {
        let depth = self.linear.depth();
        let mut rows = [self.x; R];
        for r in 0..R {
            rows[r] = &self.x[(row + r) * depth..][..depth];
        }
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
                // SAFETY: k < depth, the length of a row.
                let x = simd.splat_f32s(unsafe { *rows[r].get_unchecked(k) });
                for v in 0..V {
                    sums[r][v] = simd.mul_add_e_f32s(x, weights[v], sums[r][v]);
                }
            }
        }
        for r in 0..R {
            self.finish(simd, row + r, first, &sums[r]);
        }
    }

    /// Scale, bias, residual and activation of one row.
    #[inline(always)]
    fn finish<S: Simd, const V: usize>(
        &self,
        simd: S,
        row: usize,
        first: usize,
        sums: &[S::f32s; V],
    ) {
        let Linear { scale, bias, residual, gelu: is_gelu, .. } = self.linear;
        let width = V * S::F32_LANES;
        let columns = first..first + width;
        let at = row * self.linear.columns() + first;
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
