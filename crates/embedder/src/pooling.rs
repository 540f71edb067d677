//! Pooling of the vectors of tokens.

use crate::shape::Embedding;

/// How the vectors of the tokens of a window are pooled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// The mean.
    Mean,
    /// The vector of the first token.
    Cls,
    /// The vector of the last token.
    Last,
}

/// Pools the vectors `tokens` \[tokens, width\] of one window, of which there is at least one.
pub fn pool(how: Pooling, tokens: &[f32], width: usize) -> Embedding {
    match how {
        Pooling::Cls => tokens[..width].into(),
        Pooling::Last => tokens[tokens.len() - width..].into(),
        Pooling::Mean => {
            let mut sum = vec![0.0_f64; width];
            for token in tokens.chunks_exact(width) {
                sum.iter_mut().zip(token).for_each(|(sum, x)| *sum += f64::from(*x));
            }
            let count = (tokens.len() / width) as f64;
            sum.iter().map(|sum| (sum / count) as f32).collect()
        }
    }
}

/// Scales a vector to length 1. Returns `false` without changing it if its length is 0 or not finite.
pub fn normalize(vector: &mut [f32]) -> bool {
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let has_direction = length > 0.0 && length.is_finite();
    if has_direction {
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
    has_direction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_takes_mean_first_or_last() {
        let tokens = [1.0, 2.0, 3.0, 5.0, 8.0, 14.0];
        assert_eq!(*pool(Pooling::Mean, &tokens, 2), [4.0, 7.0]);
        assert_eq!(*pool(Pooling::Cls, &tokens, 2), [1.0, 2.0]);
        assert_eq!(*pool(Pooling::Last, &tokens, 2), [8.0, 14.0]);
    }

    #[test]
    fn normalize_gives_length_one_where_there_is_a_direction() {
        let mut vector = [3.0, -4.0];
        assert!(normalize(&mut vector));
        assert_eq!(vector, [0.6, -0.8]);
        assert!(!normalize(&mut [0.0, 0.0]));
        assert!(!normalize(&mut [f32::NAN, 1.0]));
    }
}
