//! A scorer: one cache, and the order in which calls meet it.
//!
//! Embedding runs side by side on the worker threads. What depends on the cache runs in the order of
//! the calls: an embedding waits until all calls before it have been settled.
//!
//! Locks. `order` and `statistics` are held for a few instructions, `statistics` also while `order`
//! is held, never the other way round. `memory` is held while it is searched, with neither of them; so
//! is the mirror of a log, under which only the queue of that log is taken. A call is answered, and
//! dropped, while no lock is held.

mod call;
mod log;
mod order;
mod report;
mod statistics;

use std::{
    sync::{
        Arc, PoisonError, TryLockError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use knowledgepulse_workers::available_cores;
use once_cell::sync::OnceCell;

pub use call::{CallHandle, Reply};
use log::Log;
pub use log::{Change, Comparison, LogEntry, Page, Request, Taker};
use order::Order;
pub use report::{Report, Times};
pub use statistics::Statistics;

use crate::{
    cache::{CacheOptions, VectorCache},
    error::Result,
    snapshot::Contents,
    sync::{Condvar, Mutex},
    trace::Trace,
    weights::Profiles,
};

/// What a call is to do.
#[derive(Debug)]
pub enum Work {
    /// Compare a trace with the cache, score it, and add it to the cache.
    Score(Input),
    /// Compare a trace with the cache and score it.
    Peek(Input),
    /// Add a trace to the cache.
    Remember(Input),
    /// Remove the traces with this id from the cache.
    Forget(Arc<str>),
    /// Remove all traces from the cache.
    Clear,
    /// Embed a text.
    Embed(String),
    /// Load the embedder and use it once.
    WarmUp,
}

/// A trace and its text.
#[derive(Debug)]
pub struct Input {
    /// The trace.
    pub trace: Trace,
    /// Its text, at least as much of it as is embedded; empty where nothing is.
    pub text: String,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The trace has this score.
    Scored(Box<Report>),
    /// The trace is in the cache.
    Remembered,
    /// So many traces were removed from the cache.
    Removed(usize),
    /// The embedding of the text.
    Embedded(Box<[f32]>),
    /// The embedder has been loaded and used, or this is why not.
    WarmedUp(Result<(), Arc<str>>),
}

/// How a scorer works.
#[derive(Debug, Clone)]
pub struct ScorerOptions {
    /// The weights by domain. Default: those of the KnowledgePulse protocol.
    pub profiles: Arc<Profiles>,
    /// The bounds of the cache.
    pub cache: CacheOptions,
    /// Texts that are embedded at once, at least 1. Default: one for each core.
    pub concurrency: usize,
}

impl Default for ScorerOptions {
    fn default() -> Self {
        let (profiles, cache) = Default::default();
        Self { profiles, cache, concurrency: available_cores() }
    }
}

/// Scores traces against those that it has scored before. See the module on order.
pub struct Scorer {
    options: ScorerOptions,
    memory: Mutex<Memory>,
    /// The size of the cache when it was last used.
    cache_len: AtomicUsize,
    order: Mutex<Order>,
    idle: Condvar,
    /// Set before the lists of calls are emptied for the last time: a call may be added to a list if this is
    /// not set while the lock of the list is held.
    closed: AtomicBool,
    statistics: Mutex<Statistics>,
    /// What takes the place of `cache` where the memory is shared.
    log: Option<Log>,
}

/// The vectors that a scorer compares with, which are those of one model.
struct Memory {
    cache: VectorCache,
    /// The fingerprint of the model; `None` before its first vector.
    model: Option<Arc<str>>,
}

impl Memory {
    /// Returns whether a vector can be compared with those that there are.
    fn has_model(&self, fingerprint: &str, vector_len: usize) -> bool {
        let is_same = self.model.as_deref().is_none_or(|model| model == fingerprint);
        is_same && self.cache.options().vector_len == vector_len
    }

    /// Makes room for vectors of this model; those of another one go.
    fn adopt(&mut self, fingerprint: &Arc<str>, vector_len: usize) {
        if !self.has_model(fingerprint, vector_len) {
            self.cache.restart(vector_len);
        }
        if self.model.as_ref() != Some(fingerprint) {
            self.model = Some(fingerprint.clone());
        }
    }
}

/// Returns the time since the first call, on a clock that never runs backwards.
pub fn monotonic_clock() -> Duration {
    static START: OnceCell<Instant> = OnceCell::new();
    START.get_or_init(Instant::now).elapsed()
}

impl Scorer {
    /// Returns a scorer with an empty cache.
    ///
    /// # Errors
    ///
    /// `INVALID_OPTION` when the cache cannot have such bounds.
    pub fn new(options: ScorerOptions) -> Result<Arc<Self>> {
        let cache = VectorCache::new(options.cache)?;
        Ok(Self::with_cache(options, cache, None))
    }

    /// Returns a scorer that goes on with a cache, whose vectors are of the `model` with this fingerprint;
    /// `options.cache` does not count.
    pub fn with_cache(
        options: ScorerOptions,
        mut cache: VectorCache,
        model: Option<Arc<str>>,
    ) -> Arc<Self> {
        let cache_len = cache.len(monotonic_clock()).into();
        let (order, idle, closed, statistics) = Default::default();
        let memory = Mutex::new(Memory { cache, model });
        Arc::new(Self { options, memory, cache_len, order, idle, closed, statistics, log: None })
    }

    /// Returns a scorer whose memory is a log that others append to as well. Whoever owns it carries calls
    /// to the log, with [`Scorer::next_batch`], and entries back, with [`Scorer::apply`]. Where the log
    /// cannot be used, scores fail if it is `required`, and have a neutral novelty if not.
    ///
    /// # Errors
    ///
    /// `INVALID_OPTION` when the cache cannot have such bounds.
    pub fn with_log(options: ScorerOptions, required: bool) -> Result<Arc<Self>> {
        let log = Some(Log::new(options.cache, required)?);
        let memory = Mutex::new(Memory { cache: VectorCache::new(options.cache)?, model: None });
        let (cache_len, order, idle, closed, statistics) = Default::default();
        Ok(Arc::new(Self { options, memory, cache_len, order, idle, closed, statistics, log }))
    }

    /// Returns the options that it was made with.
    pub fn options(&self) -> &ScorerOptions {
        &self.options
    }

    /// Uses the live cache, at the present time.
    pub fn with_live_cache<R>(&self, using: impl FnOnce(&mut VectorCache, Duration) -> R) -> R {
        self.with_memory(|memory, now| using(&mut memory.cache, now))
    }

    /// Returns the cache as bytes. `fingerprint` is that of the model in use, and counts where nothing has been
    /// embedded yet.
    pub fn snapshot(&self, fingerprint: &str) -> Vec<u8> {
        let contents = self.with_memory(|Memory { cache, model }, now| {
            Contents::of(cache, model.as_deref().unwrap_or(fingerprint), now)
        });
        // Synchronous functions of JavaScript wait for the memory.
        contents.encode()
    }

    fn with_memory<R>(&self, using: impl FnOnce(&mut Memory, Duration) -> R) -> R {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let now = monotonic_clock();
        let result = using(&mut memory, now);
        self.cache_len.store(memory.cache.len(now), Ordering::Relaxed);
        result
    }

    /// Returns how many vectors are in the cache; while it is being used, how many there were before.
    /// Never waits.
    pub fn cache_len(&self) -> usize {
        if self.log.is_some() {
            return self.cache_len.load(Ordering::Relaxed);
        }
        match self.memory.try_lock() {
            Ok(mut memory) => memory.cache.len(monotonic_clock()),
            Err(TryLockError::Poisoned(memory)) => memory.into_inner().cache.len(monotonic_clock()),
            Err(TryLockError::WouldBlock) => self.cache_len.load(Ordering::Relaxed),
        }
    }

    /// Returns what has been done so far.
    pub fn statistics(&self) -> Statistics {
        self.count(|statistics| statistics.clone())
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn count<R>(&self, count: impl FnOnce(&mut Statistics) -> R) -> R {
        count(&mut self.statistics.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
