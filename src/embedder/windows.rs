//! Embeddings of the windows of a long text, brought together.

use super::{DIMENSIONS, Embedding};

/// The mean of embeddings, each with the number of its tokens as its weight, normalised to length 1:
/// each token of the text counts about the same, in whichever window it stands. That of a single
/// window is its embedding, bit for bit.
///
/// Zeros where there is no window, or where they cancel each other out.
pub fn pool(windows: Vec<(usize, Embedding)>) -> Embedding {
    let mut windows = windows;
    if windows.len() == 1 {
        return windows.remove(0).1;
    }
    let mut sum = [0.0_f64; DIMENSIONS];
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
        let mut embedding = Box::new([0.0; DIMENSIONS]);
        embedding[axis] = 1.0;
        embedding
    }

    #[test]
    fn one_window_stays_as_it_is() {
        let embedding: Embedding = Box::new(std::array::from_fn(|i| 0.1 / (i as f32 + 3.0)));
        assert_eq!(pool(vec![(7, embedding.clone())]), embedding);
    }

    #[test]
    fn tokens_are_the_weights() {
        let pooled = pool(vec![(300, along(0)), (400, along(1))]);
        assert_eq!(pooled[..3], [0.6, 0.8, 0.0]);
    }

    #[test]
    fn what_cancels_out_is_zero() {
        let opposite = Box::new(along(5).map(|x| -x));
        assert_eq!(*pool(vec![(2, along(5)), (2, opposite)]), [0.0; DIMENSIONS]);
        assert_eq!(*pool(Vec::new()), [0.0; DIMENSIONS]);
    }
}
