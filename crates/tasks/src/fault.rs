//! Panics on demand, to show that none of them ends the process.
//!
//! With the feature `fault-injection`, which no package is built with, the environment variable
//! `KNOWLEDGEPULSE_SCORING_PANIC` names a place and how often: `embed:3` lets its first three passes
//! panic. Without the feature the function is empty.

/// Marks a place that panics if the environment says so.
#[cfg(not(feature = "fault-injection"))]
#[inline(always)]
pub fn point(_place: &str) {}

/// Marks a place that panics if the environment says so.
#[cfg(feature = "fault-injection")]
pub fn point(place: &str) {
    use std::sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    };

    static WANTED: LazyLock<Option<(String, u64)>> = LazyLock::new(|| {
        let wanted = std::env::var("KNOWLEDGEPULSE_SCORING_PANIC").ok()?;
        let (place, times) = wanted.split_once(':')?;
        Some((place.to_owned(), times.parse().ok()?))
    });
    static PASSES: AtomicU64 = AtomicU64::new(0);

    if let Some((wanted, times)) = &*WANTED
        && wanted == place
        && PASSES.fetch_add(1, Ordering::Relaxed) < *times
    {
        panic!("injected at {place}");
    }
}
