//! Runs the work of the engine: threads in lanes, cancellation, and injected faults.

#![forbid(unsafe_code)]

mod cancel;
pub mod fault;
mod intake;
mod pool;

pub use cancel::CancelToken;
pub use intake::Intake;
pub use pool::{
    IMPORTS, Job, LOADS, LONG, Lane, SELECTIONS, Threads, WORKERS, available_cores, builder,
    run_both, share_out,
};
