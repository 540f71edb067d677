//! A scorer: one cache, and the order in which calls meet it.
//!
//! Embedding runs side by side on the threads of the pool. What depends on the cache runs in the
//! order of the calls: a result waits here until all results before it have been settled.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use once_cell::sync::OnceCell;

use crate::{
    cache::{CacheOptions, VectorCache},
    dimensions::{Novelty, NoveltySource},
    embedder::{CancelToken, Embed, EmbedError, Embedding, TextWindow},
    error::{Error, Result},
    score::Score,
    threads::pool,
    trace::Trace,
};

/// Takes the result of a call, on whatever thread has it. Must not call back into the scorer.
pub type Reply = Box<dyn FnOnce(Result<Outcome>) + Send>;

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Scored(Score),
    /// The score alone, known before the embedding.
    Value(f64),
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

/// A cache that the scorer shares with whoever looks into it.
pub type SharedCache = Arc<Mutex<VectorCache>>;

/// Scores traces against what it has scored before. See the module on order.
pub struct Scorer {
    cache: SharedCache,
    /// Calls with a smaller ticket that were answered before they were embedded stay out of the
    /// cache. Changed only while the cache is locked.
    cleared: AtomicU64,
    clock: Clock,
    order: Mutex<Order>,
    idle: Condvar,
}

/// Gives the time since some fixed moment.
pub type Clock = fn() -> Duration;

/// The time since the first call, on a clock that never runs backwards.
pub fn monotonic_clock() -> Duration {
    static START: OnceCell<Instant> = OnceCell::new();
    START.get_or_init(Instant::now).elapsed()
}

#[derive(Default)]
struct Order {
    /// Tickets given out, one for each call.
    issued: u64,
    /// The ticket that is settled next.
    next: u64,
    /// Embedded, but not yet their turn.
    waiting: BTreeMap<u64, Embedded>,
    /// Being embedded just now.
    active: BTreeMap<u64, CancelToken>,
    /// A thread is settling; whoever comes meanwhile leaves its result to that one.
    settling: bool,
    closed: bool,
}

struct Call {
    /// `None` only warms up.
    trace: Option<Trace>,
    embedder: Arc<dyn Embed>,
    /// `None` when the caller has been answered.
    reply: Option<Reply>,
}

struct Embedded {
    call: Call,
    outcome: Result<Embedding, Failure>,
}

enum Failure {
    Embedder(EmbedError),
    Panic,
}

impl Scorer {
    /// A scorer with an empty cache of the default bounds.
    pub fn new(clock: Clock) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            cache: Arc::new(Mutex::new(VectorCache::new(CacheOptions::default())?)),
            cleared: AtomicU64::new(0),
            clock,
            order: Mutex::default(),
            idle: Condvar::new(),
        }))
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

    /// Scores a trace after every one submitted before it, and hands the result to `reply`.
    ///
    /// Where only the value is wanted and no novelty could change it, `reply` gets it at once; the
    /// embedding enters the cache in its turn all the same. An embedder that is required has to be
    /// waited for.
    ///
    /// # Errors
    ///
    /// `CLOSED` after [`Scorer::close`]; `INTERNAL` when the system gives no threads.
    pub fn submit(
        self: &Arc<Self>,
        trace: Trace,
        embedder: Arc<dyn Embed>,
        detail: Detail,
        reply: Reply,
    ) -> Result<()> {
        let known = (detail == Detail::Value && !embedder.is_required())
            .then(|| Score::without_novelty(&trace))
            .flatten();
        let Some(value) = known else {
            return self.enqueue(Call { trace: Some(trace), embedder, reply: Some(reply) });
        };
        self.enqueue(Call { trace: Some(trace), embedder, reply: None })?;
        reply(Ok(Outcome::Value(value)));
        Ok(())
    }

    /// Loads the embedder and uses it once, in its turn like a call, and tells `reply`.
    ///
    /// # Errors
    ///
    /// As [`Scorer::submit`].
    pub fn warm_up(self: &Arc<Self>, embedder: Arc<dyn Embed>, reply: Reply) -> Result<()> {
        self.enqueue(Call { trace: None, embedder, reply: Some(reply) })
    }

    fn enqueue(self: &Arc<Self>, call: Call) -> Result<()> {
        let pool = pool()?;
        let scorer = self.clone();
        let mut order = self.lock();
        if order.closed {
            return Err(Error::closed());
        }
        let ticket = order.issued;
        order.issued += 1;
        // Under the lock, so that tickets enter the queue in order.
        pool.spawn_fifo(move || scorer.run(ticket, call));
        Ok(())
    }

    /// Drops every call that is not yet answered, and returns when no thread works on one.
    ///
    /// A run of the model ends after the operation that it is in. Later calls are refused.
    pub fn close(&self) {
        let mut order = self.lock();
        order.closed = true;
        order.waiting.clear();
        for cancel in order.active.values() {
            cancel.cancel();
        }
        while !order.active.is_empty() {
            order = self.idle.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run(&self, ticket: u64, call: Call) {
        let cancel = CancelToken::default();
        {
            let mut order = self.lock();
            if order.closed {
                return;
            }
            order.active.insert(ticket, cancel.clone());
        }
        let nothing = TextWindow::default();
        let text = call.trace.as_ref().map_or(&nothing, Trace::text);
        let outcome = catch_unwind(AssertUnwindSafe(|| call.embedder.embed(text, &cancel)));
        let outcome = match outcome {
            Ok(outcome) => outcome.map_err(Failure::Embedder),
            Err(_) => Err(Failure::Panic),
        };
        let mut order = self.lock();
        order.waiting.insert(ticket, Embedded { call, outcome });
        if !order.settling {
            order = self.settle(order);
        }
        // Last, because `close` may return as soon as this is gone.
        order.active.remove(&ticket);
        self.idle.notify_all();
    }

    /// Answers every call whose turn it is, without holding up those who submit.
    fn settle<'a>(&'a self, mut order: MutexGuard<'a, Order>) -> MutexGuard<'a, Order> {
        order.settling = true;
        loop {
            let next = order.next;
            let Some(Embedded { call, outcome }) = order.waiting.remove(&next) else { break };
            if order.closed {
                break;
            }
            drop(order);
            let Call { trace, embedder, reply } = call;
            let result = catch_unwind(AssertUnwindSafe(|| {
                let answered = reply.is_none().then_some(next);
                self.outcome(trace.as_ref(), outcome, embedder.is_required(), answered)
            }));
            let result = result.unwrap_or_else(|_| Err(Error::internal("scoring panicked")));
            order = self.lock();
            order.next += 1;
            // A reply that panics has lost its own result; the others must not be lost with it.
            let _ = catch_unwind(AssertUnwindSafe(|| reply.map(|reply| reply(result))));
        }
        order.settling = false;
        order
    }

    fn outcome(
        &self,
        trace: Option<&Trace>,
        embedded: Result<Embedding, Failure>,
        required: bool,
        answered: Option<u64>,
    ) -> Result<Outcome> {
        let embedded = match embedded {
            Ok(embedding) => Ok(embedding),
            Err(Failure::Panic) => return Err(Error::internal("embedding panicked")),
            Err(Failure::Embedder(error)) if required => {
                return Err(Error::embedder_unavailable(error));
            }
            Err(Failure::Embedder(error)) => Err(error),
        };
        let Some(trace) = trace else { return Ok(Outcome::WarmedUp(embedded.map(drop))) };
        let source = match embedded {
            Ok(embedding) => self.compare(&embedding, answered)?,
            Err(error) => NoveltySource::NoEmbedder { reason: error.to_string().into() },
        };
        Ok(Outcome::Scored(Score::of(trace, Novelty::from(source))))
    }

    /// Compares an embedding with the cache, then adds it; but not that of a call that was `answered`,
    /// with this ticket, before the cache was cleared.
    fn compare(&self, embedding: &Embedding, answered: Option<u64>) -> Result<NoveltySource> {
        let mut cache = self.lock_cache();
        if answered.is_some_and(|ticket| ticket < self.cleared.load(Ordering::Relaxed)) {
            return Ok(NoveltySource::EmptyCache);
        }
        let now = (self.clock)();
        let similarity = cache.max_cosine_similarity(&embedding[..], now)?;
        cache.add(&embedding[..], now)?;
        Ok(match similarity {
            Some(max_similarity) => NoveltySource::Cache { max_similarity },
            None => NoveltySource::EmptyCache,
        })
    }

    fn lock_cache(&self) -> MutexGuard<'_, VectorCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
