//! The arithmetic of the model in SIMD registers.
//!
//! A kernel is divided into tasks, which [`run`] distributes over threads.

mod aligned;
pub(crate) mod arch;
mod float;
pub mod int8;
mod kernel;
mod split_slice;
#[cfg(test)]
pub(crate) mod testing;
mod text_threads;

pub(crate) use aligned::Kept;
pub use float::{
    LayerNorm, Linear, LinearWeights, Norm, PANEL, SelfAttention, Table, embed_tokens, pool,
};
pub use kernel::{Kernel, run};
pub(crate) use split_slice::SplitSlice;
pub(crate) use text_threads::{TextThreads, for_each};
