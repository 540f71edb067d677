//! The clock of scorers.

use std::time::{Duration, Instant};

use once_cell::sync::OnceCell;

/// Returns the time since the first call, on a clock that never runs backwards.
pub fn monotonic_clock() -> Duration {
    static START: OnceCell<Instant> = OnceCell::new();
    START.get_or_init(Instant::now).elapsed()
}
