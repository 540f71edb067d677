//! What a scorer shares with its calls.

use std::sync::{
    Arc, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use knowledgepulse_workers::available_cores;

use crate::{
    cache::CacheOptions, held::Ledger, scorer::statistics::Statistics, sync::Mutex,
    weights::Profiles,
};

/// The options of a scorer.
#[derive(Debug, Clone)]
pub struct ScorerOptions {
    /// The weights by domain. Default: those of the KnowledgePulse protocol.
    pub profiles: Profiles,
    /// The bounds of the memory, at least 1.
    pub cache: CacheOptions,
    /// The maximum number of texts embedded at once, at least 1. Default: one for each core.
    pub concurrency: usize,
    /// Where the bytes of the memory count. Default: one of its own.
    pub ledger: Ledger,
}

impl Default for ScorerOptions {
    fn default() -> Self {
        let (profiles, cache, ledger) = Default::default();
        Self { profiles, cache, concurrency: available_cores(), ledger }
    }
}

/// The state that a scorer shares with its calls.
pub struct Common {
    pub options: ScorerOptions,
    statistics: Mutex<Statistics>,
    /// Set before the lists of calls are emptied for the last time. Whoever adds a call must hold the lock of the
    /// list and check this first.
    closed: AtomicBool,
}

impl Common {
    pub fn new(options: ScorerOptions) -> Arc<Self> {
        Arc::new(Self { options, statistics: Mutex::default(), closed: AtomicBool::default() })
    }

    pub fn count<R>(&self, count: impl FnOnce(&mut Statistics) -> R) -> R {
        count(&mut self.statistics.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}
