//! The arithmetic of the model in SIMD registers.
//!
//! A kernel is divided into tasks, which [`run`] distributes over threads.

pub(crate) mod arch;
mod buffers;
mod float;
pub mod int8;
mod kernel;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use buffers::{Kept, SplitSlice};
pub use float::{
    LayerNorm, Linear, LinearWeights, Norm, PANEL, SelfAttention, Table, embed_tokens, pool,
};
pub(crate) use kernel::TextThreads;
pub use kernel::{Kernel, Team, run};
