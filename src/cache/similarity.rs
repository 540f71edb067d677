//! Vector arithmetic of the cache.

/// Partial sums kept side by side, so that the compiler can use whole SIMD registers.
const LANES: usize = 16;

/// The dot product of two vectors of the same length.
pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut lanes = [0.0_f32; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f64 = a_chunks
        .remainder()
        .iter()
        .zip(b_chunks.remainder())
        .map(|(x, y)| f64::from(*x) * f64::from(*y))
        .sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for ((lane, x), y) in lanes.iter_mut().zip(a).zip(b) {
            *lane += x * y;
        }
    }
    lanes.into_iter().map(f64::from).sum::<f64>() + tail
}

/// `vector` scaled to length 1; a zero vector stays zero, and so has similarity 0 to everything.
pub fn normalized(vector: &[f32]) -> Vec<f32> {
    let norm = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if norm == 0.0 {
        return vec![0.0; vector.len()];
    }
    vector.iter().map(|x| (f64::from(*x) / norm) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive_cosine(a: &[f32], b: &[f32]) -> f64 {
        let sum = |x: &[f32], y: &[f32]| {
            x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>()
        };
        sum(a, b) / (sum(a, a).sqrt() * sum(b, b).sqrt())
    }

    #[test]
    fn agrees_with_the_definition_at_every_length() {
        for length in 1..=400_usize {
            let a: Vec<f32> = (0..length).map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0).collect();
            let b: Vec<f32> = (0..length).map(|i| ((i * 53 % 97) as f32 - 40.0) / 3.0).collect();
            let expected = naive_cosine(&a, &b);
            let found = dot(&normalized(&a), &normalized(&b));
            assert!((found - expected).abs() < 1e-6, "length {length}: {found} for {expected}");
        }
    }

    #[test]
    fn scales_extremes_without_overflow() {
        for scale in [f32::MAX, 1.0, f32::MIN_POSITIVE, 1e-45] {
            let vector = normalized(&[scale, 0.0, -scale]);
            assert!((dot(&vector, &vector) - 1.0).abs() < 1e-6, "scale {scale}: {vector:?}");
        }
        assert_eq!(normalized(&[0.0, -0.0]), [0.0, 0.0]);
    }
}
