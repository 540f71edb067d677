//! How the engine runs its work: worker threads, cancellation, and panics on demand.
//!
//! Knows nothing of traces, texts, models or JavaScript.

#![forbid(unsafe_code)]

mod cancel;
pub mod fault;
mod pool;
mod queue;

pub use cancel::CancelToken;
pub use pool::{available_cores, has_waiting, join, map, spawn};
pub use queue::enqueue;
