//! Injects faults, to test that no fault ends the process.
//!
//! With the feature `fault-injection`, which no package has, the environment variable
//! `KNOWLEDGEPULSE_SCORING_PANIC` names a place and a count: with `embed:3` the first three passes of `embed`
//! fail. Without the feature the functions do nothing.

use std::io;

/// Panics if a fault is due at this place.
#[inline]
pub fn point(place: &str) {
    assert!(!is_due(place), "injected at {place}");
}

/// Fails if a fault is due at this place.
///
/// # Errors
///
/// A fault is due.
#[inline]
pub fn error(place: &str) -> io::Result<()> {
    if is_due(place) { Err(io::Error::other(format!("injected at {place}"))) } else { Ok(()) }
}

#[cfg(not(feature = "fault-injection"))]
#[inline(always)]
fn is_due(_place: &str) -> bool {
    false
}

#[cfg(feature = "fault-injection")]
fn is_due(place: &str) -> bool {
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

    WANTED.as_ref().is_some_and(|(wanted, times)| {
        wanted == place && PASSES.fetch_add(1, Ordering::Relaxed) < *times
    })
}
