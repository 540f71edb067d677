//! Vector arithmetic of the cache, in the widest SIMD registers that the machine has.

use pulp::{Arch, Simd, WithSimd};

/// Rows are padded with zeros to a multiple of this, which every register width divides.
const ROW_MULTIPLE: usize = 16;

/// The length of a row that holds a vector of `dimensions` numbers.
pub fn row_length(dimensions: usize) -> usize {
    dimensions.next_multiple_of(ROW_MULTIPLE)
}

/// Writes `vector`, scaled to length 1, into a row, and zeros after it. A zero vector stays zero,
/// and so has similarity 0 to everything.
pub fn normalize_into(row: &mut [f32], vector: &[f32]) {
    let norm = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    let scale = if norm == 0.0 { 0.0 } else { 1.0 / norm };
    let (head, padding) = row.split_at_mut(vector.len());
    for (to, from) in head.iter_mut().zip(vector) {
        *to = (f64::from(*from) * scale) as f32;
    }
    padding.fill(0.0);
}

/// The greatest dot product of `query` with one of `rows`, which lie one after another, each as
/// long as the query. `None` when there is none.
///
/// The length must be one that [`row_length`] gives.
pub fn max_dot(query: &[f32], rows: &[f32]) -> Option<f32> {
    debug_assert!(query.len().is_multiple_of(ROW_MULTIPLE));
    Arch::new().dispatch(MaxDot { query, rows })
}

struct MaxDot<'a> {
    query: &'a [f32],
    rows: &'a [f32],
}

impl WithSimd for MaxDot<'_> {
    type Output = Option<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<f32> {
        // Loops instead of iterator chains in here: only what is inlined is compiled for the
        // registers at hand, and closures within adapters are not.
        let (query, _) = S::as_simd_f32s(self.query);
        let mut greatest: Option<f32> = None;
        for row in self.rows.chunks_exact(self.query.len()) {
            let (row, _) = S::as_simd_f32s(row);
            let found = dot(simd, query, row);
            greatest = Some(greatest.map_or(found, |greatest| greatest.max(found)));
        }
        greatest
    }
}

/// Four sums side by side, because an addition takes four times as long as it keeps its unit busy.
#[inline(always)]
fn dot<S: Simd>(simd: S, a: &[S::f32s], b: &[S::f32s]) -> f32 {
    let mut sums = [simd.splat_f32s(0.0); 4];
    let (a, a_rest) = a.as_chunks::<4>();
    let (b, b_rest) = b.as_chunks::<4>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..4 {
            sums[lane] = simd.mul_add_e_f32s(a[lane], b[lane], sums[lane]);
        }
    }
    for (a, b) in a_rest.iter().zip(b_rest) {
        sums[0] = simd.mul_add_e_f32s(*a, *b, sums[0]);
    }
    let [first, second, third, fourth] = sums;
    let sum = simd.add_f32s(simd.add_f32s(first, second), simd.add_f32s(third, fourth));
    simd.reduce_sum_f32s(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel for every width that this machine has, the scalar one included.
    fn every_width(query: &[f32], rows: &[f32]) -> Vec<(&'static str, Option<f32>)> {
        let kernel = || MaxDot { query, rows };
        let mut found = vec![
            ("dispatched", max_dot(query, rows)),
            ("scalar", kernel().with_simd(pulp::Scalar::new())),
        ];
        #[cfg(target_arch = "x86_64")]
        {
            use pulp::x86::{V3, V4};
            found.extend(V3::try_new().map(|simd| ("AVX2", Simd::vectorize(simd, kernel()))));
            found.extend(V4::try_new().map(|simd| ("AVX-512", Simd::vectorize(simd, kernel()))));
        }
        #[cfg(target_arch = "aarch64")]
        found.extend(
            pulp::aarch64::Neon::try_new().map(|simd| ("NEON", Simd::vectorize(simd, kernel()))),
        );
        found
    }

    fn naive(query: &[f32], rows: &[f32]) -> Option<f32> {
        rows.chunks_exact(query.len())
            .map(|row| row.iter().zip(query).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum())
            .reduce(f64::max)
            .map(|greatest: f64| greatest as f32)
    }

    fn vector(length: usize, seed: usize) -> Vec<f32> {
        (0..length).map(|i| ((i * 37 + seed * 61) % 101) as f32 / 50.0 - 1.0).collect()
    }

    #[test]
    fn every_kernel_agrees_with_the_definition_at_every_length_and_offset() {
        for dimensions in 1..=400 {
            let length = row_length(dimensions);
            let mut query = vec![f32::NAN; length];
            normalize_into(&mut query, &vector(dimensions, 7));
            for (rows, offset) in [(0, 0), (1, 1), (3, 0), (4, 3)] {
                // An offset moves the rows away from the alignment of an allocation.
                let mut buffer = vec![f32::NAN; offset + rows * length];
                for (seed, row) in buffer[offset..].chunks_exact_mut(length).enumerate() {
                    normalize_into(row, &vector(dimensions, seed));
                }
                let expected = naive(&query, &buffer[offset..]);
                for (width, found) in every_width(&query, &buffer[offset..]) {
                    let close = match (found, expected) {
                        (Some(found), Some(expected)) => (found - expected).abs() < 1e-6,
                        (found, expected) => found == expected,
                    };
                    assert!(close, "{width}, {dimensions} × {rows}: {found:?} for {expected:?}");
                }
            }
        }
    }

    #[test]
    fn scales_extremes_without_overflow() {
        for scale in [f32::MAX, 1.0, f32::MIN_POSITIVE, 1e-45] {
            let mut row = [f32::NAN; 16];
            normalize_into(&mut row, &[scale, 0.0, -scale]);
            let length = max_dot(&row, &row).unwrap();
            assert!((length - 1.0).abs() < 1e-6, "scale {scale}: {row:?}");
        }
        let mut row = [f32::NAN; 16];
        normalize_into(&mut row, &[0.0, -0.0]);
        assert_eq!(row, [0.0; 16]);
    }
}
