//! The arithmetic of the exact model, in float32.

mod attention_f32;
mod functions_f32;
mod layers_f32;
mod linear_f32;

pub use attention_f32::SelfAttention;
pub use layers_f32::{LayerNorm, Norm, Table, embed_tokens, pool};
pub use linear_f32::{Linear, LinearWeights, PANEL};
