//! The times of the parts of a load.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// The times of a load and of its parts, which run partly at the same time. For reports only; no result depends on them.
pub struct LoadTimes {
    begun: Instant,
    milliseconds: Mutex<BTreeMap<&'static str, f64>>,
}

impl LoadTimes {
    /// Returns the times of a load that begins now.
    pub(crate) fn begin() -> Self {
        let parts = ["digest", "library", "model", "tokenizer", "total"];
        let milliseconds = parts.map(|part| (part, 0.0)).into();
        Self { begun: Instant::now(), milliseconds: Mutex::new(milliseconds) }
    }

    /// Runs a part, or a further section of it.
    pub(crate) fn of<T>(&self, part: &'static str, run: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = run();
        self.add(part, begun);
        result
    }

    pub(crate) fn end(&self) {
        self.add("total", self.begun);
    }

    fn add(&self, part: &'static str, begun: Instant) {
        let mut times = self.milliseconds.lock().unwrap_or_else(PoisonError::into_inner);
        *times.entry(part).or_default() += 1e3 * begun.elapsed().as_secs_f64();
    }

    /// Returns the times in milliseconds, by name; 0 for a part that the model does not have.
    pub fn milliseconds(&self) -> BTreeMap<&'static str, f64> {
        self.milliseconds.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
