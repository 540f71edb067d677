//! A scorer: a memory, and the order in which calls use it.
//!
//! Embedding runs concurrently on the worker threads. Whatever depends on the memory runs in the order of
//! the calls: an embedding waits until all calls before it have been settled.
//!
//! # Locks
//!
//! - The order of calls and the statistics are locked for a few instructions; the statistics also while the order
//!   is locked, never the other way round.
//! - The own memory is locked during a search, with no other lock held; so is the mirror of a store, under
//!   which only the queue of the store is locked.
//! - A call is answered, and dropped, while no lock is held.

mod answer;
mod memory;
mod report;
mod shared;
mod statistics;
mod turns;

use std::sync::Arc;

use knowledgepulse_tasks::available_cores;

pub use answer::{CallHandle, Input, Reply, Work};
pub use memory::OwnMemory;
pub use report::{Outcome, Report, Times};
pub use shared::{Change, Page, Request, SharedMemory, StoredEntry, Taker};
pub use statistics::Statistics;

use answer::Common;
use memory::Memory;
use turns::Turns;

pub use crate::clock::monotonic_clock;
use crate::{
    cache::{CacheOptions, VectorCache},
    embed::Embed,
    error::Result,
    weights::Profiles,
};

/// How a scorer works.
#[derive(Debug, Clone)]
pub struct ScorerOptions {
    /// The weights by domain. Default: those of the KnowledgePulse protocol.
    pub profiles: Arc<Profiles>,
    /// The bounds of the memory.
    pub cache: CacheOptions,
    /// The most texts that are embedded at once, at least 1. Default: one for each core.
    pub concurrency: usize,
}

impl Default for ScorerOptions {
    fn default() -> Self {
        let (profiles, cache) = Default::default();
        Self { profiles, cache, concurrency: available_cores() }
    }
}

/// Scores traces against those that it has scored before.
pub struct Scorer {
    options: ScorerOptions,
    turns: Arc<Turns>,
}

impl Scorer {
    /// Returns a scorer with an empty memory of its own.
    ///
    /// # Errors
    ///
    /// `INVALID_OPTION` if the bounds of the cache are invalid.
    pub fn new(options: ScorerOptions) -> Result<Arc<Self>> {
        let cache = VectorCache::new(options.cache)?;
        Ok(Self::with_cache(options, cache, None))
    }

    /// Returns a scorer that continues with a cache, whose vectors are of the `model` with this fingerprint;
    /// `options.cache` is ignored.
    pub fn with_cache(
        options: ScorerOptions,
        cache: VectorCache,
        model: Option<Arc<str>>,
    ) -> Arc<Self> {
        let common = Common::new(options.profiles.clone());
        Self::with_memory(options, Memory::Own(OwnMemory::new(cache, model)), common)
    }

    /// Returns a scorer whose memory is a store that others append to as well; see [`SharedMemory`]. While the
    /// store is unavailable, scores fail if it is required, and otherwise have a neutral novelty.
    ///
    /// # Errors
    ///
    /// `INVALID_OPTION` if the bounds of the cache are invalid.
    pub fn with_store(options: ScorerOptions, is_required: bool) -> Result<Arc<Self>> {
        let common = Common::new(options.profiles.clone());
        let memory = SharedMemory::new(options.cache, is_required, common.clone())?;
        Ok(Self::with_memory(options, Memory::Shared(Arc::new(memory)), common))
    }

    fn with_memory(options: ScorerOptions, memory: Memory, common: Arc<Common>) -> Arc<Self> {
        let turns = Turns::new(common, memory, options.concurrency);
        Arc::new(Self { options, turns })
    }

    /// Returns the options that it was made with.
    pub fn options(&self) -> &ScorerOptions {
        &self.options
    }

    /// Returns its own memory; `None` with a store.
    pub fn own_memory(&self) -> Option<&Arc<OwnMemory>> {
        match &self.turns.memory {
            Memory::Own(memory) => Some(memory),
            Memory::Shared(_) => None,
        }
    }

    /// Returns the memory that it shares; `None` without a store.
    pub fn shared_memory(&self) -> Option<&Arc<SharedMemory>> {
        match &self.turns.memory {
            Memory::Own(_) => None,
            Memory::Shared(memory) => Some(memory),
        }
    }

    /// Returns how many vectors are in the memory; while it is being used, how many there were before.
    /// Never waits.
    pub fn cache_len(&self) -> usize {
        self.turns.memory.len()
    }

    /// Returns counts and latencies of the calls so far.
    pub fn statistics(&self) -> Statistics {
        self.turns.common.count(|statistics| statistics.clone())
    }

    /// Does `work` after everything that was submitted before it, and passes the result to `reply`: `CLOSED`
    /// after [`Scorer::close`], `NO_THREADS` if the system gives no thread. `reply` may be called before this
    /// returns.
    pub fn submit(&self, work: Work, embedder: Arc<dyn Embed>, reply: Reply) -> CallHandle {
        let handle = self.queue(work, embedder, reply);
        self.start();
        handle
    }

    /// Submits work as [`Scorer::submit`] does, but [`Scorer::start`] must follow. Waking a thread takes longer
    /// than queueing a call, so one start should follow many calls.
    pub fn queue(&self, work: Work, embedder: Arc<dyn Embed>, reply: Reply) -> CallHandle {
        self.turns.queue(work, embedder, reply)
    }

    /// Has a thread begin with the queue, beside those that already work on it.
    pub fn start(&self) {
        self.turns.start();
    }

    /// Returns why scores do not depend on an embedding, and so on no call before them; `None` if they do.
    pub fn unavailable_reason(&self, embedder: &dyn Embed) -> Option<Arc<str>> {
        self.turns.unavailable_reason(embedder)
    }

    /// Answers every call without an answer with `CLOSED`, and returns when no thread works for the
    /// scorer. Later calls are refused.
    ///
    /// A run of the model ends after its current operation. Must not be called in a reply, whose
    /// thread it would wait for.
    pub fn close(&self) {
        self.turns.close();
    }

    /// Does `work` that is not a call; [`Scorer::close`] waits for it, too.
    ///
    /// # Errors
    ///
    /// `CLOSED` after [`Scorer::close`], or the error of `work`.
    pub fn during<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.turns.during(work)
    }
}
