//! How the engine runs its work: threads, cancellation, and faults on demand.
//!
//! Knows nothing of traces, texts, models or JavaScript.

#![forbid(unsafe_code)]

mod cancel;
pub mod fault;
mod pool;

pub use cancel::CancelToken;
pub use pool::{LONG, Lane, PIECES, Threads, WORKERS, available_cores, has_waiting, join, spawn};
