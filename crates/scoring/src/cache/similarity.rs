//! Vector arithmetic of the cache, in the widest SIMD registers that the machine has, and the best rows of a search.

use std::{cmp::Ordering, collections::HashSet};

use pulp::{Arch, Simd, WithSimd};

use super::VectorCache;

/// Rows are padded with zeros to a multiple of this, which every register width divides.
const ROW_MULTIPLE: usize = 16;

/// The length of a row that holds a vector of `dimensions` numbers.
pub fn row_length(dimensions: usize) -> usize {
    dimensions.next_multiple_of(ROW_MULTIPLE)
}

/// Returns the length of a vector, by the Euclidean norm.
pub fn norm(vector: &[f32]) -> f64 {
    vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt()
}

/// The maximum deviation of a vector's length from 1, where vectors come from outside: rounding to float32 changes it by
/// far less, damage rarely by less.
pub const TOLERANCE: f64 = 1e-4;

/// Returns whether a length is about 1.
pub fn is_unit(norm: f64) -> bool {
    // NaN is not.
    (norm - 1.0).abs() <= TOLERANCE
}

/// Writes `vector`, scaled to length 1, into a row, and zeros after it. A zero vector stays zero,
/// and so has similarity 0 to everything.
pub fn normalize_into(row: &mut [f32], vector: &[f32]) {
    let norm = norm(vector);
    let scale = if norm == 0.0 { 0.0 } else { 1.0 / norm };
    let (head, padding) = row.split_at_mut(vector.len());
    for (to, from) in head.iter_mut().zip(vector) {
        *to = (f64::from(*from) * scale) as f32;
    }
    padding.fill(0.0);
}

/// Offers each of `rows`, contiguous and each as long as the query, with its dot product with the query, in \[-1, 1\].
/// The first is in slot `first`.
///
/// The query must be as long as [`row_length`] returns; query and rows must be unit vectors or zero.
pub fn offer_dots(query: &[f32], rows: &[f32], first: usize, best: &mut Best) {
    debug_assert!(query.len().is_multiple_of(ROW_MULTIPLE));
    Arch::new().dispatch(OfferDots { query, rows, first, best });
}

struct OfferDots<'a, 'b> {
    query: &'a [f32],
    rows: &'a [f32],
    first: usize,
    best: &'a mut Best<'b>,
}

impl WithSimd for OfferDots<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Loops instead of iterator chains: only inlined code is compiled for these registers, and closures within
        // adapters are not inlined.
        for (row, numbers) in self.rows.chunks_exact(self.query.len()).enumerate() {
            let dot = Dot { query: self.query, row: numbers }.with_simd(simd);
            if self.best.takes(dot) {
                self.best.offer(self.first + row, dot);
            }
        }
    }
}

/// Returns the dot product of `query` with a row, as [`offer_dots`] computes it.
pub fn dot_of(query: &[f32], row: &[f32]) -> f32 {
    Arch::new().dispatch(Dot { query, row })
}

struct Dot<'a> {
    query: &'a [f32],
    row: &'a [f32],
}

impl WithSimd for Dot<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let ((query, _), (row, _)) = (S::as_simd_f32s(self.query), S::as_simd_f32s(self.row));
        // Rounding can make the similarity of equal vectors exceed 1. It is clamped before it is compared, so that the
        // first of equal vectors is found.
        dot(simd, query, row).clamp(-1.0, 1.0)
    }
}

/// Uses four independent sums, because the latency of an addition is four times the interval between two.
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

/// The `k` greatest of the offered values that are at least a minimum; among equals, those offered first.
#[derive(Debug)]
pub struct Best<'a> {
    k: usize,
    at_least: f64,
    /// The next row must have a greater value.
    bar: f32,
    /// The rows taken, and up to `k` more since they were last sorted.
    taken: Vec<(usize, f32)>,
    /// The number of rows at which they are sorted next.
    full: usize,
    /// The rows are of this cache, and of those with one id only the greatest is taken.
    ids: Option<&'a VectorCache>,
}

impl<'a> Best<'a> {
    /// Returns an empty list of up to `k` rows, at least 1, with values of at least `at_least`.
    pub fn new(k: usize, at_least: f64) -> Self {
        let bar = at_least as f32;
        let bar = if f64::from(bar) < at_least { bar } else { bar.next_down() };
        Self { k, at_least, bar, taken: Vec::new(), full: k, ids: None }
    }

    /// Takes only the greatest of the rows with one id, which are of this cache.
    pub fn of_ids(self, cache: &'a VectorCache) -> Self {
        Self { ids: Some(cache), ..self }
    }

    /// Returns whether a row with this value, offered now, can be among the best.
    #[inline(always)]
    pub fn takes(&self, value: f32) -> bool {
        value > self.bar
    }

    /// Offers a row. Rows must be offered in order of age, the oldest first.
    pub fn offer(&mut self, slot: usize, value: f32) {
        if !self.takes(value) {
            return;
        }
        self.taken.push((slot, value));
        // Not after each row, because `k` may be large.
        if self.taken.len() == self.full {
            self.sort();
        }
    }

    /// Sorts the rows, and drops those after the first `k`.
    fn sort(&mut self) {
        // Stable, so that of equals the one offered first stays first. Values are numbers, and 0 equals -0.
        self.taken.sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
        if let Some(cache) = self.ids {
            let mut ids = HashSet::new();
            self.taken.retain(|(slot, _)| cache.id_in(*slot).is_none_or(|id| ids.insert(id)));
        }
        self.taken.truncate(self.k);
        self.full = self.taken.len().saturating_add(self.k);
        if let Some((_, last)) = self.taken.get(self.k - 1) {
            self.bar = *last;
        }
    }

    /// Returns a lower bound of the best values. It never falls: a row with a lesser value is out for good.
    pub fn least(&self) -> f64 {
        self.at_least.max(self.bar.into())
    }

    /// Returns slots and values, the greatest first; among equals, the one offered first.
    pub fn into_rows(mut self) -> impl Iterator<Item = (usize, f32)> {
        self.sort();
        self.taken.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nearest row, from 0 on, and its dot product.
    type Greatest = (usize, f32);

    fn search(query: &[f32], rows: &[f32], search: impl FnOnce(OfferDots)) -> Option<Greatest> {
        let mut best = Best::new(1, -1.0);
        search(OfferDots { query, rows, first: 0, best: &mut best });
        best.into_rows().next()
    }

    /// The kernel for every width that this machine has, the scalar one included.
    fn every_width(query: &[f32], rows: &[f32]) -> Vec<(&'static str, Option<Greatest>)> {
        let mut all = Vec::new();
        let mut add = |name, run: &dyn Fn(OfferDots)| all.push((name, search(query, rows, run)));
        add("dispatched", &|kernel| Arch::new().dispatch(kernel));
        add("scalar", &|kernel| kernel.with_simd(pulp::Scalar::new()));
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(simd) = pulp::x86::V3::try_new() {
                add("AVX2", &|kernel| Simd::vectorize(simd, kernel));
            }
            if let Some(simd) = pulp::x86::V4::try_new() {
                add("AVX-512", &|kernel| Simd::vectorize(simd, kernel));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(simd) = pulp::aarch64::Neon::try_new() {
            add("NEON", &|kernel| Simd::vectorize(simd, kernel));
        }
        all
    }

    fn naive(query: &[f32], rows: &[f32]) -> Option<Greatest> {
        rows.chunks_exact(query.len())
            .map(|row| row.iter().zip(query).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum())
            .enumerate()
            .reduce(|a: (usize, f64), b| if b.1 > a.1 { b } else { a })
            .map(|(row, dot)| (row, dot as f32))
    }

    fn vector(length: usize, seed: usize) -> Vec<f32> {
        (0..length).map(|i| ((i * 37 + seed * 61) % 101) as f32 / 50.0 - 1.0).collect()
    }

    #[test]
    fn offer_dots_agrees_with_the_definition_at_every_length_and_offset() {
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
                        (Some(found), Some(expected)) => {
                            // In one dimension all vectors of one sign are the same.
                            (found.0 == expected.0 || dimensions == 1)
                                && (found.1 - expected.1).abs() < 1e-6
                        }
                        (found, expected) => found == expected,
                    };
                    assert!(close, "{width}, {dimensions} × {rows}: {found:?} for {expected:?}");
                }
            }
        }
    }

    #[test]
    fn offer_dots_finds_the_first_of_equal_rows_in_every_width() {
        // Multiples of a vector are one row up to rounding; some come out longer than 1.
        let length = row_length(100);
        let mut buffer = vec![0.0; 50 * length];
        for (scale, row) in (1_u8..).zip(buffer.chunks_exact_mut(length)) {
            let multiple: Vec<f32> = vector(100, 3).iter().map(|x| x * f32::from(scale)).collect();
            normalize_into(row, &multiple);
        }
        for (query, row) in buffer.chunks_exact(length).enumerate() {
            for (width, found) in every_width(row, &buffer) {
                let single = |at: &[f32]| {
                    let widths = every_width(row, at);
                    widths.into_iter().find(|(name, _)| *name == width).unwrap().1.unwrap().1
                };
                let dots: Vec<f32> = buffer.chunks_exact(length).map(single).collect();
                let greatest = dots.iter().copied().reduce(f32::max).unwrap();
                let first = dots.iter().position(|dot| *dot == greatest).unwrap();
                let expected = (first, greatest);
                assert_eq!(found, Some(expected), "{width}, query {query}");
                assert!(greatest <= 1.0, "{width}, query {query}: {greatest}");
            }
        }
    }

    #[test]
    fn normalize_into_scales_extremes_without_overflow() {
        for scale in [f32::MAX, 1.0, f32::MIN_POSITIVE, 1e-45] {
            let mut row = [f32::NAN; 16];
            normalize_into(&mut row, &[scale, 0.0, -scale]);
            let length = dot_of(&row, &row);
            assert!((length - 1.0).abs() < 1e-6, "scale {scale}: {row:?}");
        }
        let mut row = [f32::NAN; 16];
        normalize_into(&mut row, &[0.0, -0.0]);
        assert_eq!(row, [0.0; 16]);
    }
}
