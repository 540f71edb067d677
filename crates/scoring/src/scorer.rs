//! A scorer: a memory, and the order in which calls use it.
//!
//! Embedding runs concurrently on the worker threads. Whatever depends on the memory runs in the order of the calls: an
//! embedding waits until all calls before it have been settled. A call is answered, and dropped, while no lock of the
//! scorer is held; docs/dev/architecture.md has the order of locks.

mod call;
mod common;
mod memory;
mod store;

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, PoisonError},
    time::Instant,
};

use call::{Call, EmbeddedCall};
pub use call::{CallHandle, Input, Query, Reply, Work};
use common::Common;
pub use common::{Change, Found, Held, Ledger, Outcome, ScorerOptions, Statistics};
use knowledgepulse_workers::{LOADS, Threads, WORKERS};
use memory::Memory;
pub use memory::OwnMemory;
pub use store::{Page, StoreMemory, StoredEntry, Taker};

use crate::{
    cache::VectorCache,
    clock::since,
    embed::CallEmbedder,
    error::{Error, Result},
    id::Id,
    score::Score,
    snapshot::{Contents, Snapshot},
    sync::{Condvar, Mutex, lock},
    trace::Trace,
};
pub use crate::{
    clock::monotonic_clock,
    score::{Report, Times},
};

/// Scores traces against those that it has scored before.
pub struct Scorer {
    common: Arc<Common>,
    memory: Memory,
    order: Mutex<Order>,
    idle: Condvar,
}

#[derive(Default)]
struct Order {
    /// The number of issued tickets, one for each call.
    issued: u64,
    /// The next ticket to settle.
    next: u64,
    /// Calls not yet begun.
    queue: VecDeque<(u64, Arc<Call>)>,
    /// The number of threads that work on calls or have been started to.
    workers: usize,
    /// Calls being embedded or settled.
    active: BTreeMap<u64, Arc<Call>>,
    /// Embedded calls whose turn has not come.
    embedded: BTreeMap<u64, EmbeddedCall>,
    /// The number of running [`Scorer::during`].
    others: usize,
    /// Whether a thread is settling; others leave their results to it.
    settling: bool,
}

impl Scorer {
    /// Returns a scorer with an empty memory of its own.
    pub fn new(options: ScorerOptions) -> Arc<Self> {
        let cache = VectorCache::new(options.cache);
        Self::with_cache(options, cache, None)
    }

    /// Returns a scorer with a cache, whose vectors come from the `model` with this fingerprint; `options.cache` is
    /// ignored.
    pub fn with_cache(
        options: ScorerOptions,
        cache: VectorCache,
        model: Option<Arc<str>>,
    ) -> Arc<Self> {
        let memory = OwnMemory::new(cache, model, Held::new(&options.ledger));
        Self::with_memory(Memory::Own(memory), Common::new(options))
    }

    /// Returns a scorer on a store that others append to as well; see [`StoreMemory`]. While the store is unavailable,
    /// scores fail if it is required, and otherwise have a neutral novelty. With a snapshot of such a memory with the
    /// same bounds, only newer entries are read; with any other, the whole store.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::into_cache`].
    pub fn with_store(
        options: ScorerOptions,
        is_required: bool,
        snapshot: Option<Snapshot>,
    ) -> Result<Arc<Self>> {
        let common = Common::new(options);
        let memory = StoreMemory::new(is_required, snapshot, common.clone())?;
        Ok(Self::with_memory(Memory::Store(Arc::new(memory)), common))
    }

    fn with_memory(memory: Memory, common: Arc<Common>) -> Arc<Self> {
        let (order, idle) = Default::default();
        Arc::new(Self { common, memory, order, idle })
    }

    /// Returns the options of the scorer.
    pub fn options(&self) -> &ScorerOptions {
        &self.common.options
    }

    /// Returns its own memory; `None` with a store.
    pub fn own_memory(&self) -> Option<&Arc<OwnMemory>> {
        if let Memory::Own(memory) = &self.memory { Some(memory) } else { None }
    }

    /// Returns the memory that it shares; `None` without a store.
    pub fn store_memory(&self) -> Option<&Arc<StoreMemory>> {
        if let Memory::Store(memory) = &self.memory { Some(memory) } else { None }
    }

    /// Copies the memory. `fingerprint` is that of the model in use.
    pub fn snapshot(&self, fingerprint: &str) -> Contents {
        match &self.memory {
            Memory::Own(memory) => memory.snapshot(fingerprint),
            Memory::Store(memory) => memory.mirror().snapshot(fingerprint),
        }
    }

    /// Returns the number of vectors in the memory; during a search, the number before it. Never waits.
    pub fn cache_len(&self) -> usize {
        match &self.memory {
            Memory::Own(memory) => memory.len(),
            Memory::Store(memory) => memory.len(),
        }
    }

    /// Returns the ids of the traces in the memory.
    pub fn ids(&self) -> HashSet<Id> {
        match &self.memory {
            Memory::Own(own) => own.with_cache(|cache, now| cache.ids(now).cloned().collect()),
            Memory::Store(memory) => memory.mirror().ids().cloned().collect(),
        }
    }

    /// Fails once it is closed.
    ///
    /// # Errors
    ///
    /// `CLOSED`.
    pub fn check_open(&self) -> Result<()> {
        if self.common.is_closed() { Err(Error::closed()) } else { Ok(()) }
    }

    /// Returns counts and latencies of the calls so far.
    pub fn statistics(&self) -> Statistics {
        self.common.count(|statistics| statistics.clone())
    }

    /// Does `work` in call order, and passes the result to `reply`, possibly before this returns: `CLOSED` after
    /// [`Scorer::close`], `NO_THREADS` if the system cannot create a thread.
    pub fn submit(
        self: &Arc<Self>,
        work: Work,
        embedder: CallEmbedder,
        reply: Reply,
    ) -> CallHandle {
        let mut order = lock(&self.order);
        if self.common.is_closed() {
            drop(order);
            reply(Err(Error::closed()));
            return CallHandle::default();
        }
        self.common.count(|statistics| statistics.accepted += 1);
        let call = Call::new(self.common.clone(), work, embedder, reply);
        let handle = CallHandle(Arc::downgrade(&call));
        let is_idle = order.next == order.issued && !order.settling;
        if is_idle && call.work.scored().is_some() && call.embedder.is_err() {
            drop(order);
            // Scoring is faster than waking a thread.
            self.memory.settle(EmbeddedCall::embed(call));
            return handle;
        }
        let threads = match WORKERS.threads() {
            Ok(threads) => threads,
            Err(error) => {
                drop(order);
                if let Some(mut owed) = call.take_owed() {
                    owed.settle(Err(Error::no_threads(error)));
                }
                return handle;
            }
        };
        let ticket = order.issued;
        order.issued += 1;
        order.queue.push_back((ticket, call));
        // Otherwise the running threads take the call: they end only when the queue is empty.
        if order.workers < self.options().concurrency {
            order.workers += 1;
            let scorer = self.clone();
            threads.spawn(move || scorer.work(threads, false));
        }
        handle
    }

    /// Returns the least and the greatest score that a trace can have ([`Score::bounds`]), and whether it is rejected by
    /// them, which is then counted as an answer: they are below the threshold, and the score is not needed. Otherwise use
    /// [`Work::Decide`].
    ///
    /// # Errors
    ///
    /// `CLOSED` after [`Scorer::close`].
    pub fn judge(
        &self,
        trace: &Trace,
        threshold: f64,
        needs_score: bool,
    ) -> Result<([f64; 2], bool)> {
        let submitted = Instant::now();
        self.check_open()?;
        let bounds = Score::bounds(trace, &self.options().profiles);
        let is_rejected = !needs_score && bounds[1] < threshold;
        if is_rejected {
            self.common.count(|statistics| {
                statistics.accepted += 1;
                statistics.answered_after(since(submitted));
            });
        }
        Ok((bounds, is_rejected))
    }

    /// Answers all pending calls with `CLOSED`, and cancels their work. Later calls are refused. Never waits; see
    /// [`Scorer::wait_until_idle`].
    pub fn close(&self) {
        let mut order = lock(&self.order);
        self.common.close();
        let mut calls = order.active.clone();
        calls.extend(order.queue.drain(..));
        let embedded = mem::take(&mut order.embedded);
        calls.extend(embedded.into_iter().map(|(ticket, embedded)| (ticket, embedded.call)));
        drop(order);
        let sent = self.store_memory().map(|memory| memory.close()).unwrap_or_default();
        for mut owed in sent.iter().chain(calls.values()).filter_map(|call| call.cancel()) {
            owed.settle(Err(Error::closed()));
        }
    }

    /// Waits until no thread works for the scorer, on a call or in [`Scorer::during`], but not beyond the `deadline`.
    /// Returns whether none does. Must not be called from a reply, because that thread works for the scorer.
    ///
    /// After [`Scorer::close`], a run of the model ends with its current operation.
    pub fn wait_until_idle(&self, deadline: Instant) -> bool {
        let mut order = lock(&self.order);
        while !order.active.is_empty() || order.others > 0 {
            let patience = deadline.saturating_duration_since(Instant::now());
            if patience.is_zero() {
                return false;
            }
            let waited = self.idle.wait_timeout(order, patience);
            (order, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    /// Runs `work` that is not a call; [`Scorer::wait_until_idle`] waits for it too.
    ///
    /// # Errors
    ///
    /// `CLOSED` after [`Scorer::close`], or the error of `work`.
    pub fn during<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let mut order = lock(&self.order);
        self.check_open()?;
        order.others += 1;
        drop(order);
        let result = catch_unwind(AssertUnwindSafe(work));
        lock(&self.order).others -= 1;
        self.idle.notify_all();
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Works on the queue until it is empty, on `threads`, where it lets other jobs run between calls; a call that loads the
    /// embedder is left to a thread for that, on which this `is_loading`.
    fn work(self: Arc<Self>, threads: Threads, is_loading: bool) {
        let mut order = lock(&self.order);
        while let Some((ticket, call)) = order.queue.pop_front() {
            if !is_loading
                && call.loads()
                && let Ok(loads) = LOADS.threads()
            {
                order.queue.push_front((ticket, call));
                drop(order);
                return loads.spawn(move || self.work(threads, true));
            }
            order.active.insert(ticket, call.clone());
            drop(order);
            self.settle(ticket, EmbeddedCall::embed(call));
            // Removed last, because the scorer is then idle; dropped without the lock.
            order = lock(&self.order);
            let (done, has_more) = (order.active.remove(&ticket), !order.queue.is_empty());
            drop(order);
            drop(done);
            self.idle.notify_all();
            if is_loading || (has_more && threads.has_waiting()) {
                return threads.spawn(move || self.work(threads, false));
            }
            order = lock(&self.order);
        }
        order.workers -= 1;
    }

    /// Settles every call whose turn it is, this one included, without holding up those who submit.
    fn settle(&self, ticket: u64, embedded: EmbeddedCall) {
        let mut order = lock(&self.order);
        if self.common.is_closed() {
            // `close` has answered the call; it must not be dropped under the lock.
            drop(order);
            return;
        }
        order.embedded.insert(ticket, embedded);
        if order.settling {
            return;
        }
        order.settling = true;
        loop {
            let Order { embedded, next, .. } = &mut *order;
            let Some(embedded) = embedded.remove(next) else { break };
            *next += 1;
            drop(order);
            self.memory.settle(embedded);
            order = lock(&self.order);
        }
        order.settling = false;
    }
}

impl Drop for Scorer {
    /// Calls that are dropped with it are answered with `CLOSED`.
    fn drop(&mut self) {
        self.common.close();
    }
}
