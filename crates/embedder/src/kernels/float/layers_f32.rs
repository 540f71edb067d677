//! What stands around the linear layers and the attention: embeddings, normalisation, pooling.

use pulp::Simd;

use crate::kernels::{Kernel, ROWS, SharedSlice, rows_of};

/// `(x - mean) / √(variance + epsilon) * gamma + beta` for each row of a matrix.
pub struct LayerNorm<'a> {
    /// \[rows, width\]
    pub x: &'a [f32],
    /// \[width\]
    pub gamma: &'a [f32],
    /// \[width\]
    pub beta: &'a [f32],
    /// Added to the variance, so that nothing is divided by 0.
    pub epsilon: f32,
    /// \[rows, width\]
    pub y: SharedSlice<'a, f32>,
}

impl LayerNorm<'_> {
    /// Returns whether the shapes fit, and a row is made of whole registers.
    pub fn fits(&self) -> bool {
        let width = self.gamma.len();
        width > 0
            && width.is_multiple_of(16)
            && self.beta.len() == width
            && self.x.len().is_multiple_of(width)
            && self.y.len() == self.x.len()
    }
}

impl Kernel for LayerNorm<'_> {
    fn tasks(&self) -> usize {
        (self.x.len() / self.gamma.len()).div_ceil(ROWS)
    }

    fn operations(&self) -> usize {
        self.x.len()
    }

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, simd: S, task: usize) {
        let Self { x, gamma, beta, epsilon, y } = self;
        let width = gamma.len();
        let (gamma, beta) = (S::as_simd_f32s(gamma).0, S::as_simd_f32s(beta).0);
        let rows = x.len() / width;
        for row in rows_of(task, rows) {
            let range = row * width..(row + 1) * width;
            let (x, _) = S::as_simd_f32s(&x[range.clone()]);
            // SAFETY: the rows of a task are its own.
            let (y, _) = S::as_mut_simd_f32s(unsafe { y.part(range) });
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
            let factor = simd.splat_f32s(1.0 / (variance + epsilon).sqrt());
            for (at, y) in y.iter_mut().enumerate() {
                let distance = simd.mul_f32s(simd.sub_f32s(x[at], mean), factor);
                *y = simd.mul_add_e_f32s(distance, gamma[at], beta[at]);
            }
        }
    }
}

/// Rows of two tables, added: that of the token and that of its position.
pub struct TokenEmbeddings<'a> {
    /// Rows of `word`, one for each token.
    pub ids: &'a [i64],
    /// \[vocabulary, width\]
    pub word: Table<'a>,
    /// \[positions, width\]
    pub position: Table<'a>,
}

/// A table \[entries, width\] of 16-bit integers.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    /// \[entries, width\]
    pub values: &'a [i16],
    /// \[entries\]: what the values of an entry are multiplied with.
    pub scale: &'a [f32],
}

impl Table<'_> {
    /// Returns the table without its first `entries`.
    ///
    /// # Panics
    ///
    /// It has not as many.
    pub fn after(self, entries: usize) -> Self {
        let skipped = entries * self.values.len() / self.scale.len();
        Self { values: &self.values[skipped..], scale: &self.scale[entries..] }
    }

    fn width(&self) -> Option<usize> {
        let width = self.values.len().checked_div(self.scale.len())?;
        (width * self.scale.len() == self.values.len()).then_some(width)
    }

    fn row(&self, entry: usize, width: usize) -> (&[i16], f32) {
        (&self.values[entry * width..][..width], self.scale[entry])
    }
}

impl TokenEmbeddings<'_> {
    /// Returns the width of the tables; `None` if the shapes do not fit or there is no row for a token.
    pub fn width(&self) -> Option<usize> {
        let width = self.word.width().filter(|width| Some(*width) == self.position.width())?;
        let known = |id: &i64| (0..self.word.scale.len() as i64).contains(id);
        let fits = self.ids.len() <= self.position.scale.len() && self.ids.iter().all(known);
        fits.then_some(width)
    }

    /// Writes the sums to `y` \[tokens, width\].
    pub fn run(&self, width: usize, y: &mut [f32]) {
        for (position, (id, y)) in self.ids.iter().zip(y.chunks_exact_mut(width)).enumerate() {
            let (word, word_scale) = self.word.row(*id as usize, width);
            let (place, place_scale) = self.position.row(position, width);
            for i in 0..width {
                y[i] = f32::from(word[i]) * word_scale + f32::from(place[i]) * place_scale;
            }
        }
    }
}

/// Writes the mean of the rows of `x` \[rows, width\], scaled to length 1, to `y` \[width\].
pub fn pool(x: &[f32], y: &mut [f32]) {
    y.fill(0.0);
    for row in x.chunks_exact(y.len()) {
        for (sum, x) in y.iter_mut().zip(row) {
            *sum += x;
        }
    }
    // The length of the mean does not matter, only its direction.
    let norm = y.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    for x in y {
        *x = (f64::from(*x) / norm) as f32;
    }
}

#[cfg(test)]
mod tests {
    use pulp::WithSimd;

    use super::*;
    use crate::kernels::testing::{every_width, run_tasks};

    fn numbers(count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 37 + i / 97) % 1009) as f32 / 168.0 - 3.0).collect()
    }

    #[derive(Clone, Copy)]
    struct Norm<'a> {
        x: &'a [f32],
        gamma: &'a [f32],
        beta: &'a [f32],
    }

    impl WithSimd for Norm<'_> {
        type Output = Vec<f32>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
            let mut y = vec![f32::NAN; self.x.len()];
            let Norm { x, gamma, beta } = self;
            let all = LayerNorm { x, gamma, beta, epsilon: 1e-12, y: SharedSlice::new(&mut y) };
            assert!(all.fits());
            run_tasks(simd, &all, 0..all.tasks());
            y
        }
    }

    #[test]
    fn layer_norm_is_its_definition_in_every_width() {
        for width in [16, 48, 384] {
            let (gamma, beta) = (numbers(width), numbers(2 * width)[width..].to_vec());
            for rows in (1..=33).chain([512]) {
                let x = numbers(rows * width);
                for (name, y) in every_width(Norm { x: &x, gamma: &gamma, beta: &beta }) {
                    for (x, y) in x.chunks(width).zip(y.chunks(width)) {
                        let mean = x.iter().map(|x| f64::from(*x)).sum::<f64>() / width as f64;
                        let square = |x: &f32| (f64::from(*x) - mean).powi(2);
                        let variance = x.iter().map(square).sum::<f64>() / width as f64;
                        for i in 0..width {
                            let z = (f64::from(x[i]) - mean) / (variance + 1e-12).sqrt();
                            let expected = z * f64::from(gamma[i]) + f64::from(beta[i]);
                            let error = (f64::from(y[i]) - expected).abs();
                            assert!(error < 4e-6, "{name}, {rows} × {width}: {error}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn embeddings_add_the_rows_of_token_and_position() {
        let word = Table { values: &[1, 2, 3, 4, 5, 6], scale: &[1.0, 10.0, 100.0] };
        let position = Table { values: &[7, 8, 9, 10], scale: &[0.5, 0.25] };
        let mut y = [0.0; 4];
        let embeddings = TokenEmbeddings { ids: &[2, 0], word, position };
        assert_eq!(embeddings.width(), Some(2));
        embeddings.run(2, &mut y);
        assert_eq!(y, [503.5, 604.0, 3.25, 4.5]);
        for ids in [&[3][..], &[-1], &[0, 0, 0]] {
            assert_eq!(TokenEmbeddings { ids, word, position }.width(), None, "{ids:?}");
        }
    }

    #[test]
    fn pool_gives_the_direction_of_the_mean() {
        let mut y = [f32::NAN; 2];
        pool(&[1.0, 0.0, 2.0, 0.0, 3.0, 8.0], &mut y);
        assert_eq!(y, [0.6, 0.8]);
    }
}
