//! Runs the work of the engine: threads in lanes, cancellation, and injected faults.

#![forbid(unsafe_code)]

mod cancel;
pub mod fault;
mod intake;
mod pool;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use cancel::CancelToken;
pub use intake::Intake;
pub use pool::{
    IMPORTS, LOADS, LONG, Lane, SELECTIONS, Threads, WORKERS, available_cores, builder, run_both,
    share_out,
};

/// Locks a mutex, also after a panic of a thread that had locked it.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
