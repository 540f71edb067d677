//! The times of the parts of a load.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

/// The times of a load and of its parts, which run partly at the same time. For reports only; no result depends on them.
pub struct LoadTimes {
    begun: Instant,
    /// From the start to the end.
    total: PartTime,
    /// Hashing the weights, and for a custom model its other files.
    pub(crate) digest: PartTime,
    /// Checking and loading the ONNX Runtime library, unless an earlier model has done so.
    pub(crate) library: PartTime,
    /// Making the session of ONNX Runtime, or reading the weights into the native backend.
    pub(crate) model: PartTime,
    /// Reading the tokenizer.
    pub(crate) tokenizer: PartTime,
}

impl LoadTimes {
    /// Returns the times of a load that begins now.
    pub(crate) fn begin() -> Self {
        let [total, digest, library, model, tokenizer] = Default::default();
        Self { begun: Instant::now(), total, digest, library, model, tokenizer }
    }

    pub(crate) fn end(&self) {
        self.total.add_since(self.begun);
    }

    /// Returns the times in milliseconds, by name; 0 for a part that the model does not have.
    pub fn milliseconds(&self) -> BTreeMap<&'static str, f64> {
        let Self { begun: _, total, digest, library, model, tokenizer } = self;
        let parts = [
            ("total", total),
            ("digest", digest),
            ("library", library),
            ("model", model),
            ("tokenizer", tokenizer),
        ];
        parts.into_iter().map(|(name, time)| (name, time.0.load(Relaxed) as f64 / 1e6)).collect()
    }
}

/// The time of a part, in nanoseconds.
#[derive(Default)]
pub(crate) struct PartTime(AtomicU64);

impl PartTime {
    /// Runs the part, or a further section of it.
    pub fn of<T>(&self, part: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = part();
        self.add_since(begun);
        result
    }

    fn add_since(&self, begun: Instant) {
        self.0.fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
    }
}
