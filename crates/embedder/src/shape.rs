//! The shape of the built-in model.

/// The maximum number of tokens in a window of the built-in model, special ones included.
pub const MAX_TOKENS: usize = 512;

/// The length of an embedding of the built-in model.
pub const EMBEDDING_LEN: usize = 384;

/// A vector of length 1, unless [`crate::ModelOptions::normalize`] is `false`.
pub type Embedding = Box<[f32]>;

/// The words and pieces of words.
pub(crate) const VOCABULARY: usize = 30_522;
pub(crate) const LAYERS: usize = 6;
/// The numbers of a token in the input and the output of a layer.
pub(crate) const WIDTH: usize = EMBEDDING_LEN;
/// The numbers of a token within the feed-forward part of a layer.
pub(crate) const FFN: usize = 4 * WIDTH;
pub(crate) const HEADS: usize = 12;
/// The numbers of a token in one head.
pub(crate) const HEAD: usize = WIDTH / HEADS;
/// What normalisation adds to the variance.
pub(crate) const EPSILON: f32 = 1e-12;
