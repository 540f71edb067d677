//! A scorer: one cache, and the order in which calls meet it.
//!
//! Embedding runs side by side on the threads of the pool. What depends on the cache runs in the
//! order of the calls: a result waits here until all results before it have been settled.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use once_cell::sync::OnceCell;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{
    cache::{CacheOptions, VectorCache},
    dimensions::{Novelty, NoveltySource},
    embedder::{CancelToken, Embed, EmbedError, Embedding},
    error::{Error, Result},
    score::Score,
    trace::Trace,
};

/// Takes the result of a call, on whatever thread has it. Must not call back into the scorer.
pub type Reply = Box<dyn FnOnce(Result<Score>) + Send>;

/// A cache that the scorer shares with whoever looks into it.
pub type SharedCache = Arc<Mutex<VectorCache>>;

/// Scores traces against what it has scored before. See the module on order.
pub struct Scorer {
    cache: SharedCache,
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
    trace: Trace,
    embedder: Arc<dyn Embed>,
    reply: Reply,
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
            clock,
            order: Mutex::default(),
            idle: Condvar::new(),
        }))
    }

    /// The live cache.
    pub fn cache(&self) -> &SharedCache {
        &self.cache
    }

    /// How many calls have not been answered yet.
    pub fn pending(&self) -> u64 {
        let order = self.lock();
        order.issued - order.next
    }

    /// Scores a trace after every one submitted before it, and hands the result to `reply`.
    ///
    /// # Errors
    ///
    /// `CLOSED` after [`Scorer::close`]; `INTERNAL` when the system gives no threads.
    pub fn submit(
        self: &Arc<Self>,
        trace: Trace,
        embedder: Arc<dyn Embed>,
        reply: Reply,
    ) -> Result<()> {
        let pool = pool()?;
        let scorer = self.clone();
        let mut order = self.lock();
        if order.closed {
            return Err(Error::closed());
        }
        let ticket = order.issued;
        order.issued += 1;
        // Under the lock, so that tickets enter the queue in order.
        pool.spawn_fifo(move || scorer.run(ticket, Call { trace, embedder, reply }));
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
        let outcome =
            catch_unwind(AssertUnwindSafe(|| call.embedder.embed(call.trace.text(), &cancel)));
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
                self.score(&trace, outcome, embedder.is_required())
            }));
            let result = result.unwrap_or_else(|_| Err(Error::internal("scoring panicked")));
            order = self.lock();
            order.next += 1;
            // A reply that panics has lost its own result; the others must not be lost with it.
            let _ = catch_unwind(AssertUnwindSafe(|| reply(result)));
        }
        order.settling = false;
        order
    }

    fn score(
        &self,
        trace: &Trace,
        outcome: Result<Embedding, Failure>,
        required: bool,
    ) -> Result<Score> {
        let source = match outcome {
            Ok(embedding) => self.compare(&embedding)?,
            Err(Failure::Panic) => return Err(Error::internal("embedding panicked")),
            Err(Failure::Embedder(error)) if required => {
                return Err(Error::embedder_unavailable(error));
            }
            Err(Failure::Embedder(error)) => {
                NoveltySource::NoEmbedder { reason: error.to_string().into() }
            }
        };
        Ok(Score::of(trace, Novelty::from(source)))
    }

    /// Compares an embedding with the cache, then adds it.
    fn compare(&self, embedding: &Embedding) -> Result<NoveltySource> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (self.clock)();
        let similarity = cache.max_cosine_similarity(&embedding[..], now)?;
        cache.add(&embedding[..], now)?;
        Ok(match similarity {
            Some(max_similarity) => NoveltySource::Cache { max_similarity },
            None => NoveltySource::EmptyCache,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many texts are embedded at once: one for each core that the process may use.
pub fn pool_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The threads of all scorers of the process, started by the first call.
fn pool() -> Result<&'static ThreadPool> {
    static POOL: OnceCell<ThreadPool> = OnceCell::new();
    POOL.get_or_try_init(|| {
        ThreadPoolBuilder::new()
            .num_threads(pool_threads())
            .thread_name(|index| format!("kp-scoring-{index}"))
            .build()
            .map_err(|error| Error::internal(format!("no threads to score on: {error}")))
    })
}
