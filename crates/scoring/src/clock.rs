//! The clock of scorers.

use std::{
    sync::LazyLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Returns the time since the first call, on a clock that never runs backwards.
pub fn monotonic_clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// Returns the time since another moment. Clocks of different cores may disagree; the difference is then 0.
pub fn since(earlier: Instant) -> Duration {
    Instant::now().saturating_duration_since(earlier)
}

/// Returns the time since 1970, which may run backwards.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
