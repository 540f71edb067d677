//! The clock of scorers.

use std::{
    sync::{LazyLock, Mutex},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use knowledgepulse_workers::lock;

/// Returns the time since the first call, on a clock that never runs backwards.
pub fn monotonic_clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// Returns the time since another moment. Clocks of different cores may disagree; the difference is then 0.
pub fn since(earlier: Instant) -> Duration {
    Instant::now().saturating_duration_since(earlier)
}

/// Returns the time since 1970 of a moment of [`monotonic_clock`]. The distance of the two clocks is measured again only
/// when it has changed by a second, as after a sleep of the machine, so that a moment keeps its date.
pub fn since_1970(moment: Duration) -> Duration {
    static DISTANCE: Mutex<Duration> = Mutex::new(Duration::ZERO);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let found = now.saturating_sub(monotonic_clock());
    let mut distance = lock(&DISTANCE);
    if found.abs_diff(*distance) >= Duration::from_secs(1) {
        *distance = found;
    }
    *distance + moment
}
