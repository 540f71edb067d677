//! Locks whose order of acquisition a test can choose: see tests/schedules.rs.

#[cfg(feature = "shuttle")]
pub use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(feature = "shuttle"))]
pub use std::sync::{Condvar, Mutex, MutexGuard};
