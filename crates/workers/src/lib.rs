//! Runs the work of the engine: threads in two lanes, cancellation, and injected faults.

#![forbid(unsafe_code)]

mod cancel;
pub mod fault;
mod pool;

pub use cancel::CancelToken;
pub use pool::{LONG, Lane, Threads, WORKERS, available_cores, builder, join};
