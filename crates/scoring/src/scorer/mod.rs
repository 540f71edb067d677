//! A scorer: a memory, and the order in which calls use it.
//!
//! Embedding runs concurrently on the worker threads. Whatever depends on the memory runs in the order of the calls: an
//! embedding waits until all calls before it have been settled. A call is answered, and dropped, while no lock of the scorer is held;
//! docs/architecture.md has the order of locks.

mod answer;
mod memory;
mod report;
mod shared;
mod statistics;
mod turns;

use knowledgepulse_workers::available_cores;

pub use answer::{CallHandle, Input, Query, Reply, Work};
pub use memory::OwnMemory;
pub use report::{Found, Outcome, Report, Times};
pub use shared::{Change, Page, Request, SharedMemory, StoredEntry, Taker};
pub use statistics::Statistics;
pub use turns::Scorer;

pub use crate::clock::monotonic_clock;
use crate::{cache::CacheOptions, weights::Profiles};

/// The options of a scorer.
#[derive(Debug, Clone)]
pub struct ScorerOptions {
    /// The weights by domain. Default: those of the KnowledgePulse protocol.
    pub profiles: Profiles,
    /// The bounds of the memory, at least 1.
    pub cache: CacheOptions,
    /// The maximum number of texts embedded at once, at least 1. Default: one for each core.
    pub concurrency: usize,
}

impl Default for ScorerOptions {
    fn default() -> Self {
        let (profiles, cache) = Default::default();
        Self { profiles, cache, concurrency: available_cores() }
    }
}
