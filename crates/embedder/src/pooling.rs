//! The embedding of a text of several windows.

use crate::{EMBEDDING_LEN, Embedding};

/// Returns the mean of embeddings, each weighted by its number of tokens, normalised to length 1: each
/// token of the text counts about the same, in whichever window it stands. That of a single window is
/// its embedding, bit for bit.
///
/// Zeros where there is no window, or where they cancel each other out.
pub fn mean(mut windows: Vec<(usize, Embedding)>) -> Embedding {
    if windows.len() == 1 {
        return windows.remove(0).1;
    }
    let mut sum = [0.0_f64; EMBEDDING_LEN];
    for (tokens, embedding) in &windows {
        for (sum, x) in sum.iter_mut().zip(embedding.iter()) {
            *sum += *tokens as f64 * f64::from(*x);
        }
    }
    let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
    let scale = if length > 0.0 { length.recip() } else { 0.0 };
    Box::new(sum.map(|x| (x * scale) as f32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along(axis: usize) -> Embedding {
        let mut embedding = Box::new([0.0; EMBEDDING_LEN]);
        embedding[axis] = 1.0;
        embedding
    }

    #[test]
    fn mean_of_one_window_is_the_window() {
        let embedding: Embedding = Box::new(std::array::from_fn(|i| 0.1 / (i as f32 + 3.0)));
        assert_eq!(mean(vec![(7, embedding.clone())]), embedding);
    }

    #[test]
    fn mean_is_weighted_by_tokens() {
        let pooled = mean(vec![(300, along(0)), (400, along(1))]);
        assert_eq!(pooled[..3], [0.6, 0.8, 0.0]);
    }

    #[test]
    fn mean_of_opposites_is_zero() {
        let opposite = Box::new(along(5).map(|x| -x));
        assert_eq!(*mean(vec![(2, along(5)), (2, opposite)]), [0.0; EMBEDDING_LEN]);
        assert_eq!(*mean(Vec::new()), [0.0; EMBEDDING_LEN]);
    }
}
