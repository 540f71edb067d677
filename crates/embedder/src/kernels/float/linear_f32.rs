//! Linear layers in float32 with 16-bit weights.
//!
//! A task computes one strip of columns: it decodes the weights of the strip once and multiplies all rows of the
//! input with them, a tile of rows at a time, whose sums stay in registers.

#[cfg(test)]
mod tests;

use std::{borrow::Cow, ops::Range};

use pulp::Simd;

use super::functions_f32::gelu;
use crate::{
    kernels::{
        arch::prefetch,
        buffers::{Kept, SplitSlice},
        kernel::Kernel,
    },
    shape::HEAD,
};

/// The number of columns whose weights are stored together.
pub const PANEL: usize = 16;

/// The columns of a task: the width of a full tile of the widest registers.
const STRIP: usize = 3 * PANEL;

/// The weights of a linear layer, usually in mapped memory. `scale` and `bias` are \[columns\].
pub struct LinearWeights<'a> {
    /// Panels of 16 columns, \[columns / 16, depth, 16\]. A weight is this integer times the `scale` of its column.
    pub values: Cow<'a, [i16]>,
    pub scale: Cow<'a, [f32]>,
    pub bias: Cow<'a, [f32]>,
}

impl LinearWeights<'_> {
    /// Returns the length of a row of the input.
    pub fn depth(&self) -> usize {
        self.values.len() / self.columns()
    }

    /// Returns the length of a row of the output.
    pub fn columns(&self) -> usize {
        self.scale.len()
    }
}

/// A linear layer with the operations after it: `y = gelu?(x W + bias + residual)`.
pub struct Linear<'a> {
    weights: &'a LinearWeights<'a>,
    x: &'a [f32],
    residual: Option<&'a [f32]>,
    gelu: bool,
    by_head: bool,
    y: SplitSlice<'a, f32>,
}

impl<'a> Linear<'a> {
    /// Makes a layer of an input `x` \[rows, depth\], a `residual` \[rows, columns\] and an output `y`
    /// \[rows, columns\]. Panics if the shapes do not fit.
    pub fn new(
        weights: &'a LinearWeights<'a>,
        x: &'a [f32],
        residual: Option<&'a [f32]>,
        gelu: bool,
        y: &'a mut [f32],
    ) -> Self {
        let (depth, columns) = (weights.depth(), weights.columns());
        assert!(depth > 0 && columns.is_multiple_of(PANEL));
        assert!(weights.values.len() == depth * columns && weights.bias.len() == columns);
        assert!(x.len().is_multiple_of(depth) && y.len() == x.len() / depth * columns);
        assert!(residual.is_none_or(|residual| residual.len() == y.len()));
        Self { weights, x, residual, gelu, by_head: false, y: SplitSlice::new(y) }
    }

    /// Writes the output as \[columns / 32, rows, 32\], the numbers of a head side by side. Panics if there is a residual,
    /// or part of a head.
    pub fn by_head(self) -> Self {
        assert!(self.residual.is_none() && self.weights.columns().is_multiple_of(HEAD));
        Self { by_head: true, ..self }
    }
}

impl Kernel for Linear<'_> {
    fn tasks(&self) -> usize {
        self.weights.columns().div_ceil(STRIP)
    }

    // Loops instead of closures here and below: closures are not compiled for the instruction set.
    #[inline(always)]
    unsafe fn run_task<S: Simd>(&self, simd: S, task: usize) {
        let mut decoded = DECODED.with(|kept| kept.take(self.weights.depth() * STRIP));
        let mut first = task * STRIP;
        let end = self.weights.columns().min(first + STRIP);
        while first < end {
            let full = end - first >= STRIP;
            // Tiles that fit the registers: rows × vectors of sums, one row of weights, one number.
            first += PANEL
                * match S::F32_LANES {
                    16 if full => self.panels::<S, 3, 8, 3>(simd, first, &mut decoded),
                    16 => self.panels::<S, 1, 8, 1>(simd, first, &mut decoded),
                    8 => self.panels::<S, 1, 6, 2>(simd, first, &mut decoded),
                    4 => self.panels::<S, 1, 6, 4>(simd, first, &mut decoded),
                    _ => self.panels::<S, 1, 2, 16>(simd, first, &mut decoded),
                };
        }
        DECODED.with(|kept| kept.put(decoded));
    }
}

thread_local! {
    /// The decoded weights of a task.
    static DECODED: Kept<f32> = const { Kept::new() };
}

impl Linear<'_> {
    /// Computes `P` panels from the column `first`, in tiles of at most `R` rows and `V` vectors. Returns `P`.
    #[inline(always)]
    fn panels<S: Simd, const P: usize, const R: usize, const V: usize>(
        &self,
        simd: S,
        first: usize,
        decoded: &mut [f32],
    ) -> usize {
        let size = self.weights.depth() * PANEL;
        let at = first / PANEL * size;
        let weight = &self.weights.values[at..at + P * size];
        let decoded = &mut decoded[..P * size];
        for (to, from) in decoded.iter_mut().zip(weight) {
            *to = f32::from(*from);
        }
        let (decoded, _) = S::as_simd_f32s(decoded);
        let rows = self.x.len() / self.weights.depth();
        // Tiles of about equal height, because one of a few rows takes nearly as long as a full one.
        const { assert!(matches!(R, 2 | 6 | 8)) };
        let tiles = rows.div_ceil(R);
        for tile in 0..tiles {
            let row = rows * tile / tiles;
            let end = rows * (tile + 1) / tiles;
            if tile == 0 {
                self.rows::<S, P, R, V, true>(simd, first, decoded, row..end);
            } else {
                self.rows::<S, P, R, V, false>(simd, first, decoded, row..end);
            }
        }
        P
    }

    /// Computes a tile of the `rows`, at most `R`.
    #[inline(always)]
    fn rows<S: Simd, const P: usize, const R: usize, const V: usize, const PREFETCH: bool>(
        &self,
        simd: S,
        first: usize,
        decoded: &[S::f32s],
        rows: Range<usize>,
    ) {
        let row = rows.start;
        match rows.len() {
            1 => self.tile::<S, P, 1, V, PREFETCH>(simd, first, decoded, row),
            2 if R > 2 => self.tile::<S, P, 2, V, PREFETCH>(simd, first, decoded, row),
            3 if R > 2 => self.tile::<S, P, 3, V, PREFETCH>(simd, first, decoded, row),
            4 if R > 2 => self.tile::<S, P, 4, V, PREFETCH>(simd, first, decoded, row),
            5 if R > 2 => self.tile::<S, P, 5, V, PREFETCH>(simd, first, decoded, row),
            6 if R > 6 => self.tile::<S, P, 6, V, PREFETCH>(simd, first, decoded, row),
            7 if R > 6 => self.tile::<S, P, 7, V, PREFETCH>(simd, first, decoded, row),
            _ => self.tile::<S, P, R, V, PREFETCH>(simd, first, decoded, row),
        }
    }

    /// Computes `R` rows of `P` panels. The first tile of a task prefetches the panels after these, because in a short
    /// text, reading the weights takes as long as the arithmetic. In further tiles they would displace those in use.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "loops that the compiler takes to registers")]
    fn tile<S: Simd, const P: usize, const R: usize, const V: usize, const PREFETCH: bool>(
        &self,
        simd: S,
        first: usize,
        decoded: &[S::f32s],
        row: usize,
    ) {
        let depth = self.weights.depth();
        // It may be past the last panel.
        let next = self.weights.values.as_ptr().wrapping_add((first + P * PANEL) * depth);
        let mut rows = [self.x; R];
        for r in 0..R {
            rows[r] = &self.x[(row + r) * depth..][..depth];
        }
        let decoded = &decoded[..depth * V];
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for k in 0..depth {
            if PREFETCH {
                for panel in 0..P {
                    prefetch(next.wrapping_add((panel * depth + k) * PANEL));
                }
            }
            let mut weights = [simd.splat_f32s(0.0); V];
            for v in 0..V {
                // `V / P` vectors are a line of a panel.
                let (panel, in_panel) = (v / (V / P), v % (V / P));
                // SAFETY: panel < P, k < depth and in_panel < V / P, so the index is below depth * V, the
                // length of `decoded`. Bounds checks cost a third of the speed.
                weights[v] =
                    unsafe { *decoded.get_unchecked((panel * depth + k) * (V / P) + in_panel) };
            }
            for r in 0..R {
                // SAFETY: k < depth, the length of `rows[r]`.
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

    /// Applies scale, bias, residual and activation to the sums of one row.
    #[inline(always)]
    fn finish<S: Simd, const V: usize>(
        &self,
        simd: S,
        row: usize,
        first: usize,
        sums: &[S::f32s; V],
    ) {
        let LinearWeights { scale, bias, .. } = self.weights;
        let (columns, rows) = (scale.len(), self.x.len() / self.weights.depth());
        for (v, sums) in sums.iter().enumerate() {
            let column = first + v * S::F32_LANES;
            let at = if self.by_head {
                (column / HEAD * rows + row) * HEAD + column % HEAD
            } else {
                row * columns + column
            };
            let (scale, bias) = (load::<S>(scale, column), load::<S>(bias, column));
            let mut y = simd.mul_add_e_f32s(*sums, scale, bias);
            if let Some(residual) = self.residual {
                y = simd.add_f32s(y, load::<S>(residual, at));
            }
            if self.gelu {
                y = gelu(simd, y);
            }
            // SAFETY: no other task writes to these columns.
            S::as_mut_simd_f32s(unsafe { self.y.part(at..at + S::F32_LANES) }).0[0] = y;
        }
    }
}

#[inline(always)]
fn load<S: Simd>(numbers: &[f32], at: usize) -> S::f32s {
    S::as_simd_f32s(&numbers[at..at + S::F32_LANES]).0[0]
}
