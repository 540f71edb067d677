//! The other layers: embeddings, normalisation, pooling.

use std::borrow::Cow;

use pulp::Simd;

use crate::{
    kernels::{buffers::SplitSlice, kernel::Kernel},
    pooling::normalize,
    shape::{EPSILON, Embedding},
};

/// The rows of a task of [`LayerNorm`].
const ROWS: usize = 16;

/// The weights of a normalisation, \[width\] each.
pub struct Norm<'a> {
    pub gamma: Cow<'a, [f32]>,
    pub beta: Cow<'a, [f32]>,
}

/// `(x - mean) / √(variance + 1e-12) * gamma + beta` for each row of a matrix.
pub struct LayerNorm<'a> {
    norm: &'a Norm<'a>,
    x: &'a [f32],
    y: SplitSlice<'a, f32>,
}

impl<'a> LayerNorm<'a> {
    /// Makes a normalisation of `x` \[rows, width\] into `y` of the same shape. Panics if the shapes do not fit, or the width
    /// is not a multiple of 16.
    pub fn new(norm: &'a Norm<'a>, x: &'a [f32], y: &'a mut [f32]) -> Self {
        let width = norm.gamma.len();
        assert!(width > 0 && width.is_multiple_of(16) && norm.beta.len() == width);
        assert!(x.len().is_multiple_of(width) && y.len() == x.len());
        Self { norm, x, y: SplitSlice::new(y) }
    }
}

impl Kernel for LayerNorm<'_> {
    fn tasks(&self) -> usize {
        (self.x.len() / self.norm.gamma.len()).div_ceil(ROWS)
    }

    #[inline(always)]
    unsafe fn run_task<S: Simd>(&self, simd: S, task: usize) {
        let Self { norm: Norm { gamma, beta }, x, y } = self;
        let width = gamma.len();
        let (gamma, beta) = (S::as_simd_f32s(gamma).0, S::as_simd_f32s(beta).0);
        let first = task * ROWS * width;
        let rows = first..x.len().min(first + ROWS * width);
        // SAFETY: no other task writes to these rows.
        let y = unsafe { y.part(rows.clone()) };
        for (x, y) in x[rows].chunks_exact(width).zip(y.chunks_exact_mut(width)) {
            let (x, y) = (S::as_simd_f32s(x).0, S::as_mut_simd_f32s(y).0);
            let mut sum = simd.splat_f32s(0.0);
            for x in x {
                sum = simd.add_f32s(sum, *x);
            }
            let mean = simd.splat_f32s(simd.reduce_sum_f32s(sum) / width as f32);
            let mut squares = simd.splat_f32s(0.0);
            for x in x {
                let distance = simd.sub_f32s(*x, mean);
                squares = simd.mul_add_e_f32s(distance, distance, squares);
            }
            let variance = simd.reduce_sum_f32s(squares) / width as f32;
            let factor = simd.splat_f32s(1.0 / (variance + EPSILON).sqrt());
            for (at, y) in y.iter_mut().enumerate() {
                let distance = simd.mul_f32s(simd.sub_f32s(x[at], mean), factor);
                *y = simd.mul_add_e_f32s(distance, gamma[at], beta[at]);
            }
        }
    }
}

/// A table of 16-bit integers `values` \[entries, width\], and `scale` \[entries\], the factor of each entry.
pub struct Table<'a> {
    pub values: Cow<'a, [i16]>,
    pub scale: Cow<'a, [f32]>,
}

impl Table<'_> {
    /// Returns an entry of `width` values and its factor.
    fn entry(&self, index: usize, width: usize) -> (&[i16], f32) {
        (&self.values[index * width..(index + 1) * width], self.scale[index])
    }
}

/// Writes the sum of the entries for each token and its position, the first of which is `start`, to `y`
/// \[tokens, width\]. Panics if a table has no entry for a token or a position, or the shapes do not fit.
pub fn embed_tokens(ids: &[i64], word: &Table, position: &Table, start: usize, y: &mut [f32]) {
    let width = y.len() / ids.len();
    for (at, (id, y)) in ids.iter().zip(y.chunks_exact_mut(width)).enumerate() {
        let (word, word_scale) = word.entry(*id as usize, width);
        let (position, position_scale) = position.entry(start + at, width);
        for i in 0..width {
            y[i] = f32::from(word[i]) * word_scale + f32::from(position[i]) * position_scale;
        }
    }
}

/// Returns the mean of the rows of `x` \[rows, width\], scaled to length 1.
pub fn pool(x: &[f32], width: usize) -> Embedding {
    // Only the direction of the mean matters, so this is the sum.
    let mut sum = vec![0.0; width];
    for row in x.chunks_exact(width) {
        for (sum, x) in sum.iter_mut().zip(row) {
            *sum += x;
        }
    }
    normalize(&mut sum);
    sum.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{every_width, is_normalized};

    fn numbers(count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 37 + i / 97) % 1009) as f32 / 168.0 - 3.0).collect()
    }

    #[test]
    fn layer_norm_is_its_definition_in_every_width() {
        for width in [16, 48, 384] {
            let (gamma, beta) = (numbers(width), numbers(2 * width)[width..].to_vec());
            let norm = Norm { gamma: (&gamma).into(), beta: (&beta).into() };
            for rows in (1..=33).chain([512]) {
                let x = numbers(rows * width);
                let found = every_width(|width| {
                    let mut y = vec![f32::NAN; x.len()];
                    let all = LayerNorm::new(&norm, &x, &mut y);
                    width.run(&all, 0..all.tasks());
                    y
                });
                for (name, y) in found {
                    for (x, y) in x.chunks(width).zip(y.chunks(width)) {
                        let is_exact = is_normalized(x, &gamma, &beta, y);
                        assert!(is_exact, "{name}, {rows} × {width}");
                    }
                }
            }
        }
    }

    #[test]
    fn embed_tokens_adds_the_entries_of_token_and_position() {
        let table = |values, scale| Table { values: Cow::Owned(values), scale: Cow::Owned(scale) };
        let word = &table(vec![1, 2, 3, 4, 5, 6], vec![1.0, 10.0, 100.0]);
        let position = &table(vec![7, 8, 9, 10], vec![0.5, 0.25]);
        let mut y = [0.0; 4];
        embed_tokens(&[2, 0], word, position, 0, &mut y);
        assert_eq!(y, [503.5, 604.0, 3.25, 4.5]);
        embed_tokens(&[0], word, position, 1, &mut y[2..]);
        assert_eq!(y, [503.5, 604.0, 3.25, 4.5]);
    }

    #[test]
    fn pool_gives_the_direction_of_the_mean() {
        assert_eq!(*pool(&[1.0, 0.0, 2.0, 0.0, 3.0, 8.0], 2), [0.6, 0.8]);
    }
}
