//! Tickets: calls are embedded side by side and settled one after another.

use std::{
    collections::{BTreeMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

use knowledgepulse_workers::{fault, has_waiting, spawn};

use super::{
    CallHandle, Input, Outcome, Reply, Report, Scorer, Times, Work,
    call::{Call, answer},
    log::Log,
    monotonic_clock,
};
use crate::{
    embed::{Embed, Embedded},
    error::{Error, Result},
    novelty::Novelty,
    score::Score,
    sync::MutexGuard,
};

#[derive(Default)]
pub(super) struct Order {
    /// Tickets given out, one for each call.
    issued: u64,
    /// The ticket that is settled next.
    next: u64,
    /// Not yet begun.
    queue: VecDeque<(u64, Arc<Call>)>,
    /// Threads that work for this scorer, or are about to.
    workers: usize,
    /// Being embedded, or settled, just now.
    active: BTreeMap<u64, Arc<Call>>,
    /// Embedded, but not yet their turn.
    embedded: BTreeMap<u64, Finished>,
    /// Work of [`Scorer::during`].
    others: usize,
    /// A thread is settling; whoever comes meanwhile leaves its result to that one.
    settling: bool,
}

impl Order {
    /// Whether every call has its answer.
    fn is_idle(&self) -> bool {
        self.next == self.issued && !self.settling
    }

    /// Takes the call whose turn it is, if it is embedded.
    fn take_next(&mut self) -> Option<Finished> {
        let finished = self.embedded.remove(&self.next)?;
        self.next += 1;
        Some(finished)
    }
}

/// A call whose embedding is there, or is not to be had.
pub(super) struct Finished {
    pub call: Arc<Call>,
    /// Why there is no embedding; without a reason it panicked.
    pub embedded: Result<Embedded, Option<Arc<str>>>,
    begun: Duration,
    ended: Duration,
}

/// What the memory answers to a call.
pub(super) enum Recalled {
    Compared(Novelty),
    Changed { removed: usize },
}

impl Scorer {
    /// Does `work` after all that was submitted before it, and hands the result to `reply`: `CLOSED`
    /// after [`Scorer::close`], `NO_THREADS` when the system gives none. `reply` may be called before this
    /// returns.
    pub fn submit(
        self: &Arc<Self>,
        work: Work,
        embedder: Arc<dyn Embed>,
        reply: Reply,
    ) -> CallHandle {
        let handle = self.queue(work, embedder, reply);
        self.start();
        handle
    }

    /// As [`Scorer::submit`], but [`Scorer::start`] has to follow. To wake a thread takes longer than to queue
    /// a call, so that of many only the last should.
    pub fn queue(
        self: &Arc<Self>,
        work: Work,
        embedder: Arc<dyn Embed>,
        reply: Reply,
    ) -> CallHandle {
        let mut order = self.lock();
        if self.is_closed() {
            drop(order);
            answer(reply, Err(Error::closed()));
            return CallHandle::default();
        }
        self.count(|statistics| statistics.accepted += 1);
        let call = Call::new(self, work, embedder, reply);
        let handle = CallHandle(Arc::downgrade(&call));
        if order.is_idle()
            && matches!(call.work, Work::Score(_) | Work::Peek(_))
            && let Some(reason) = self.absence(&*call.embedder)
        {
            drop(order);
            // To score takes less than to wake a thread.
            let (embedded, begun) = (Err(Some(reason)), monotonic_clock());
            let finished = Finished { call, embedded, begun, ended: begun };
            self.conclude(finished, |work, embedded| self.recall(work, embedded));
            return handle;
        }
        let ticket = order.issued;
        order.issued += 1;
        order.queue.push_back((ticket, call));
        handle
    }

    /// Has a thread begin what is queued, beside those that already work on it.
    pub fn start(self: &Arc<Self>) {
        let mut order = self.lock();
        if order.queue.is_empty() || order.workers >= self.options.concurrency {
            return;
        }
        let scorer = self.clone();
        match spawn(move || scorer.work()) {
            Ok(()) => order.workers += 1,
            // Those that there are come to it.
            Err(_) if order.workers > 0 => {}
            Err(error) => {
                let calls = std::mem::take(&mut order.queue);
                order.next = order.issued;
                drop(order);
                for owed in calls.iter().filter_map(|(_, call)| call.take_answer()) {
                    owed.settle(Err(Error::no_threads(&error)));
                }
            }
        }
    }

    /// Returns why scores depend on no embedding, and so on no call before them; `None` if they do.
    pub fn absence(&self, embedder: &dyn Embed) -> Option<Arc<str>> {
        if self.log.is_none() { embedder.absence() } else { None }
    }

    /// Answers every call that has no answer yet with `CLOSED`, and returns when no thread works for the
    /// scorer. Later calls are refused.
    ///
    /// A run of the model ends after the operation that it is in. Not to be called in a reply, whose
    /// thread it would wait for.
    pub fn close(&self) {
        let mut order = self.lock();
        self.closed.store(true, Ordering::SeqCst);
        let mut calls = order.active.clone();
        calls.extend(order.queue.drain(..));
        let embedded = std::mem::take(&mut order.embedded);
        calls.extend(embedded.into_iter().map(|(ticket, finished)| (ticket, finished.call)));
        drop(order);
        let sent = self.log.as_ref().map(Log::close).unwrap_or_default();
        for owed in sent.iter().chain(calls.values()).filter_map(|call| call.cancel()) {
            owed.settle(Err(Error::closed()));
        }
        let mut order = self.lock();
        while !order.active.is_empty() || order.others > 0 {
            order = self.idle.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does `work` that is not a call; [`Scorer::close`] waits for it, too.
    ///
    /// # Errors
    ///
    /// `CLOSED` after [`Scorer::close`], or what `work` fails with.
    pub fn during<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        struct Other<'a>(&'a Scorer);

        impl Drop for Other<'_> {
            fn drop(&mut self) {
                self.0.lock().others -= 1;
                self.0.idle.notify_all();
            }
        }

        let mut order = self.lock();
        if self.is_closed() {
            return Err(Error::closed());
        }
        order.others += 1;
        drop(order);
        let _other = Other(self);
        work()
    }

    /// Does the calls of the queue, and makes room for others between them.
    fn work(self: Arc<Self>) {
        while let Some((ticket, call)) = self.begin() {
            self.start();
            self.settle(ticket, embed(call));
            // Last, because `close` may return as soon as this is gone; dropped without the lock.
            let mut order = self.lock();
            let (done, has_more) = (order.active.remove(&ticket), !order.queue.is_empty());
            drop(order);
            drop(done);
            self.idle.notify_all();
            if has_more && has_waiting() {
                let scorer = self.clone();
                if spawn(move || scorer.work()).is_ok() {
                    return;
                }
            }
        }
    }

    /// Returns the next call of the queue; `None` ends the thread that asks.
    fn begin(&self) -> Option<(u64, Arc<Call>)> {
        let mut order = self.lock();
        let next = order.queue.pop_front();
        match &next {
            Some((ticket, call)) => drop(order.active.insert(*ticket, call.clone())),
            None => order.workers -= 1,
        }
        next
    }

    /// Answers every call whose turn it is, this one included, without holding up those who submit.
    fn settle(&self, ticket: u64, finished: Finished) {
        let mut order = self.lock();
        if self.is_closed() {
            // `close` has answered the call, which is not to be dropped under the lock.
            drop(order);
            return;
        }
        order.embedded.insert(ticket, finished);
        if order.settling {
            return;
        }
        order.settling = true;
        while let Some(finished) = order.take_next() {
            drop(order);
            // A panic must not leave `settling` behind, with which no call would be settled any more.
            let _ = catch_unwind(AssertUnwindSafe(|| self.settle_next(finished)));
            order = self.lock();
        }
        order.settling = false;
    }

    fn settle_next(&self, finished: Finished) {
        match &self.log {
            Some(log) => self.enqueue_for_log(log, finished),
            None => self.conclude(finished, |work, embedded| self.recall(work, embedded)),
        }
    }

    /// Answers a call with what comes of `recall`, which is asked with its work and its embedding.
    pub(super) fn conclude(
        &self,
        finished: Finished,
        recall: impl FnOnce(&Work, &Embedded) -> Result<Recalled>,
    ) {
        let call = finished.call.clone();
        // Without it the call has been aborted, closed, or has run out of its budget.
        let Some(owed) = call.take_answer() else { return };
        let result = catch_unwind(AssertUnwindSafe(|| self.outcome(finished, recall)))
            .unwrap_or_else(|_| Err(Error::internal("scoring panicked")));
        owed.settle(result);
    }

    /// What the scorer's own cache answers.
    fn recall(&self, work: &Work, embedded: &Embedded) -> Result<Recalled> {
        let Embedded { embedding: vector, fingerprint, .. } = embedded;
        let compared = |nearest: Option<_>| {
            Recalled::Compared(nearest.map_or(Novelty::EmptyCache, Novelty::Cache))
        };
        self.with_memory(|memory, now| {
            let has_model = memory.has_model(fingerprint, vector.len());
            if matches!(work, Work::Score(_) | Work::Remember(_)) {
                memory.adopt(fingerprint, vector.len());
            }
            let cache = &mut memory.cache;
            Ok(match work {
                Work::Score(Input { trace, .. }) => {
                    compared(cache.compare_and_add(vector, trace.id().cloned(), now)?)
                }
                Work::Peek(_) if !has_model => compared(None),
                Work::Peek(_) => compared(cache.nearest(vector, now)?),
                Work::Remember(Input { trace, .. }) => {
                    cache.add(vector, trace.id().cloned(), now)?;
                    Recalled::Changed { removed: 0 }
                }
                Work::Forget(id) => Recalled::Changed { removed: cache.remove(id, now) },
                Work::Clear => {
                    let removed = cache.len(now);
                    cache.clear();
                    Recalled::Changed { removed }
                }
                Work::WarmUp => {
                    // From now on vectors of the right length can be added by hand.
                    if !vector.is_empty() && cache.len(now) == 0 {
                        memory.adopt(fingerprint, vector.len());
                    }
                    Recalled::Changed { removed: 0 }
                }
                Work::Embed(_) => Recalled::Changed { removed: 0 },
            })
        })
    }

    fn outcome(
        &self,
        finished: Finished,
        recall: impl FnOnce(&Work, &Embedded) -> Result<Recalled>,
    ) -> Result<Outcome> {
        fault::point("score");
        let Finished { call, embedded, begun, ended } = finished;
        let embedded = match embedded {
            Ok(embedded) => Ok(embedded),
            Err(None) => return Err(Error::internal("embedding panicked")),
            Err(Some(reason)) if call.embedder.is_required() => {
                return Err(Error::embedder_unavailable(reason));
            }
            Err(Some(reason)) => Err(reason),
        };
        let start = monotonic_clock();
        let trace = match &call.work {
            Work::Score(Input { trace, .. }) | Work::Peek(Input { trace, .. }) => trace,
            Work::WarmUp => {
                recall(&call.work, embedded.as_ref().unwrap_or(&Embedded::default()))?;
                return Ok(Outcome::WarmedUp(embedded.map(drop)));
            }
            Work::Embed(_) => {
                let embedded = embedded.map_err(Error::embedder_unavailable)?;
                return Ok(Outcome::Embedded(embedded.embedding));
            }
            Work::Remember(_) => {
                let embedded = embedded.map_err(Error::embedder_unavailable)?;
                recall(&call.work, &embedded)?;
                return Ok(Outcome::Remembered);
            }
            Work::Forget(_) | Work::Clear => {
                return match recall(&call.work, &Embedded::default())? {
                    Recalled::Changed { removed } => Ok(Outcome::Removed(removed)),
                    Recalled::Compared(_) => Err(Error::internal("compared instead of removed")),
                };
            }
        };
        let mut times =
            Times { queue: begun - call.since, turn: start - ended, ..Times::default() };
        let (novelty, text) = match embedded {
            Ok(embedded) => {
                (times.tokenize, times.infer) = (embedded.tokenize, embedded.infer);
                match recall(&call.work, &embedded)? {
                    Recalled::Compared(novelty) => (novelty, Some(embedded.text)),
                    Recalled::Changed { .. } => return Err(Error::internal("not compared")),
                }
            }
            Err(reason) => (Novelty::NoEmbedder { reason }, None),
        };
        let score = Score::of(trace, novelty, &self.options.profiles);
        let end = monotonic_clock();
        (times.cache, times.total) = (end - start, end - call.since);
        Ok(Outcome::Scored(Box::new(Report { score, text, times })))
    }

    fn lock(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn embed(call: Arc<Call>) -> Finished {
    let begun = monotonic_clock();
    let text = match &call.work {
        Work::Score(input) | Work::Peek(input) | Work::Remember(input) => Some(input.text.as_str()),
        Work::Embed(text) => Some(text.as_str()),
        // A tokenizer without special tokens makes nothing of an empty text.
        Work::WarmUp => Some("warm up"),
        Work::Forget(_) | Work::Clear => None,
    };
    let embed = || {
        fault::point("embed");
        text.map_or_else(|| Ok(Embedded::default()), |text| call.embedder.embed(text, &call.cancel))
    };
    let embedded = if call.cancel.is_cancelled() {
        Err(Some("cancelled".into()))
    } else {
        match catch_unwind(AssertUnwindSafe(embed)) {
            Ok(embedded) => embedded.map_err(Some),
            Err(_) => Err(None),
        }
    };
    Finished { call, embedded, begun, ended: monotonic_clock() }
}
