//! A scorer: one cache, and the order in which calls meet it.
//!
//! Embedding runs side by side on the threads of the pool. What depends on the cache runs in the
//! order of the calls: a result waits here until all results before it have been settled.

mod account;
mod deadlines;
mod early;
mod order;
mod pending;
mod statistics;

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use once_cell::sync::OnceCell;

pub use account::{Account, Times};
use deadlines::Deadlines;
pub use early::MOST_EARLY;
use order::Order;
use pending::Pending;
pub use statistics::Statistics;

use crate::{
    cache::{CacheOptions, Nearest, VectorCache},
    dimensions::NoveltySource,
    embedder::{Embed, EmbedError, LongText},
    error::Result,
    score::Score,
    threads::pool_threads,
    trace::Trace,
    weights::Profiles,
};

/// Takes the result of a call, on whatever thread has it. Must not call back into the scorer.
pub type Reply = Box<dyn FnOnce(Result<Outcome>) + Send>;

/// What a call is to do with its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Compare it with the cache, score it, and add it to the cache.
    Score(Detail),
    /// Compare it with the cache and score it.
    Peek(Detail),
    /// Add it to the cache.
    Remember,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Scored(Box<Account>),
    /// The score alone, known before the embedding.
    Value(f64),
    /// The trace is in the cache.
    Remembered,
    /// The embedder has been loaded and used, or this is why not.
    WarmedUp(std::result::Result<(), EmbedError>),
}

/// How much of a score the caller wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The number, as soon as it is known.
    Value,
    /// The whole account.
    Account,
}

/// How a scorer works.
#[derive(Debug, Clone)]
pub struct ScorerOptions {
    pub profiles: Arc<Profiles>,
    /// Of vectors of 384 dimensions.
    pub cache: CacheOptions,
    /// Texts that are embedded at once, at least 1. Default: one for each core.
    pub threads: usize,
    /// The longest that a score waits for its embedding. Default: as long as it takes.
    pub budget: Option<Duration>,
    /// What counts of long texts, for whoever reads traces for this scorer. Default: the window.
    pub long_text: LongText,
}

impl Default for ScorerOptions {
    fn default() -> Self {
        Self {
            profiles: Arc::default(),
            cache: CacheOptions::default(),
            threads: pool_threads(),
            budget: None,
            long_text: LongText::default(),
        }
    }
}

/// A cache that the scorer shares with whoever looks into it.
pub type SharedCache = Arc<Mutex<VectorCache>>;

/// Scores traces against what it has scored before. See the module on order.
pub struct Scorer {
    options: ScorerOptions,
    cache: SharedCache,
    /// Calls with a smaller ticket that were answered before they were embedded stay out of the
    /// cache. Changed only while the cache is locked.
    cleared: AtomicU64,
    clock: Clock,
    order: Mutex<Order>,
    idle: Condvar,
    statistics: Mutex<Statistics>,
}

/// Gives the time since some fixed moment.
pub type Clock = fn() -> Duration;

/// The time since the first call, on a clock that never runs backwards.
pub fn monotonic_clock() -> Duration {
    static START: OnceCell<Instant> = OnceCell::new();
    START.get_or_init(Instant::now).elapsed()
}

/// A call that is on its way, for whoever may want to abort it. It keeps nothing of the call in
/// memory, because a garbage collector may take its time to drop it.
#[derive(Clone)]
pub struct CallHandle {
    scorer: Weak<Scorer>,
    pending: Weak<Pending>,
}

impl CallHandle {
    /// Answers the call with `ABORTED`; it leaves no mark in the cache. Without effect, and `false`,
    /// when the call has its answer or is getting it.
    pub fn abort(&self) -> bool {
        let (Some(scorer), Some(pending)) = (self.scorer.upgrade(), self.pending.upgrade()) else {
            return false;
        };
        let aborted = pending.abort();
        if aborted {
            scorer.lock_statistics().aborted += 1;
        }
        aborted
    }
}

impl Scorer {
    /// A scorer with an empty cache.
    ///
    /// # Errors
    ///
    /// `INVALID_OPTION` when the cache cannot have such bounds.
    pub fn new(clock: Clock, options: ScorerOptions) -> Result<Arc<Self>> {
        let cache = VectorCache::new(options.cache)?;
        Ok(Self::with_cache(clock, options, cache))
    }

    /// A scorer that goes on with a cache; `options.cache` does not count.
    pub fn with_cache(clock: Clock, options: ScorerOptions, cache: VectorCache) -> Arc<Self> {
        Arc::new(Self {
            options,
            cache: Arc::new(Mutex::new(cache)),
            cleared: AtomicU64::new(0),
            clock,
            order: Mutex::default(),
            idle: Condvar::new(),
            statistics: Mutex::default(),
        })
    }

    /// How it works.
    pub fn options(&self) -> &ScorerOptions {
        &self.options
    }

    /// The live cache.
    pub fn cache(&self) -> &SharedCache {
        &self.cache
    }

    /// Empties the cache, also of those calls that have been answered but not been embedded yet.
    pub fn clear_cache(&self) {
        let issued = self.lock().issued;
        let mut cache = self.lock_cache();
        self.cleared.store(issued, Ordering::Relaxed);
        cache.clear();
    }

    /// Takes the traces with this id out of the cache; gives their number.
    pub fn forget(&self, id: &str) -> usize {
        self.lock_cache().remove(id, (self.clock)())
    }

    /// The present time, as the cache counts it.
    pub fn now(&self) -> Duration {
        (self.clock)()
    }

    /// What has been done so far.
    pub fn statistics(&self) -> Statistics {
        self.lock_statistics().clone()
    }

    /// Does `task` with a trace after every one submitted before it, and hands the result to
    /// `reply`.
    ///
    /// Where only the value is wanted and no novelty could change it, `reply` gets it at once; the
    /// embedding enters the cache in its turn all the same. An embedder that is required has to be
    /// waited for. See the module on early answers for how many there may be.
    ///
    /// # Errors
    ///
    /// `CLOSED` after [`Scorer::close`]; `INTERNAL` when the system gives no threads.
    pub fn submit(
        self: &Arc<Self>,
        task: Task,
        trace: Trace,
        embedder: Arc<dyn Embed>,
        reply: Reply,
    ) -> Result<CallHandle> {
        let budget = self.options.budget.filter(|_| task != Task::Remember);
        // Nothing may fail any more once the call has its ticket, and so will be answered.
        let limit = budget.map(|budget| Ok((budget, Deadlines::running()?))).transpose()?;
        let is_crowded = self.is_crowded();
        let known = matches!(task, Task::Score(Detail::Value) | Task::Peek(Detail::Value))
            && !embedder.is_required()
            && !is_crowded;
        let value = known.then(|| Score::without_novelty(&trace)).flatten();
        let since = (self.clock)();
        let refusal = (limit.is_some() && is_crowded).then(|| self.over_budget(&trace, since));
        let pending = Pending::new(Some(trace), since, reply);
        if let Some(outcome) = refusal {
            self.turn_away(&pending, outcome)?;
            return Ok(self.handle(&pending));
        }
        self.enqueue(Some(task), embedder, pending.clone())?;
        match (value, limit) {
            (Some(value), _) => {
                self.answer_early(&pending, || Outcome::Value(value));
            }
            (None, Some((budget, deadlines))) => self.answer_within(budget, deadlines, &pending),
            (None, None) => {}
        }
        Ok(self.handle(&pending))
    }

    fn handle(self: &Arc<Self>, pending: &Arc<Pending>) -> CallHandle {
        CallHandle { scorer: Arc::downgrade(self), pending: Arc::downgrade(pending) }
    }

    /// Loads the embedder and uses it once, in its turn like a call, and tells `reply`.
    ///
    /// # Errors
    ///
    /// As [`Scorer::submit`].
    pub fn warm_up(self: &Arc<Self>, embedder: Arc<dyn Embed>, reply: Reply) -> Result<CallHandle> {
        let pending = Pending::new(None, (self.clock)(), reply);
        self.enqueue(None, embedder, pending.clone())?;
        Ok(self.handle(&pending))
    }

    /// Compares an embedding with the cache.
    fn compare(&self, cache: &mut VectorCache, embedding: &[f32]) -> Result<NoveltySource> {
        let nearest = cache.nearest(embedding, (self.clock)())?;
        Ok(match nearest {
            Some(Nearest { similarity, id }) => {
                NoveltySource::Cache { max_similarity: similarity, nearest: id }
            }
            None => NoveltySource::EmptyCache,
        })
    }

    fn lock_cache(&self) -> MutexGuard<'_, VectorCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_statistics(&self) -> MutexGuard<'_, Statistics> {
        self.statistics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
