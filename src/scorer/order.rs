//! Tickets: calls are embedded side by side and settled one after another.

use std::{
    collections::{BTreeMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use super::{
    Account, Outcome, Scorer, Task, Times,
    pending::{Claim, Pending},
};
use crate::{
    dimensions::{Novelty, NoveltySource},
    embedder::{Embed, EmbedError, Embedded, Text},
    error::{Error, Result},
    fault,
    score::Score,
    threads::pool,
};

#[derive(Default)]
pub struct Order {
    /// Tickets given out, one for each call.
    pub issued: u64,
    /// The ticket that is settled next.
    pub next: u64,
    /// Not yet begun.
    queue: VecDeque<(u64, Call)>,
    /// Threads that work for this scorer, or are about to.
    threads: usize,
    /// Embedded, but not yet their turn.
    waiting: BTreeMap<u64, Finished>,
    /// Being embedded just now.
    active: BTreeMap<u64, Arc<Pending>>,
    /// Calls that were answered before their turn and have not had it yet.
    pub early: usize,
    /// A thread is settling; whoever comes meanwhile leaves its result to that one.
    settling: bool,
    pub closed: bool,
}

struct Call {
    /// `None` only warms up.
    task: Option<Task>,
    embedder: Arc<dyn Embed>,
    pending: Arc<Pending>,
}

/// A call whose embedding is there, or cannot be had.
struct Finished {
    call: Call,
    outcome: Result<Embedded, Failure>,
    begun: Duration,
    ended: Duration,
}

enum Failure {
    Embedder(EmbedError),
    Panic,
}

impl Scorer {
    pub(super) fn enqueue(
        self: &Arc<Self>,
        task: Option<Task>,
        embedder: Arc<dyn Embed>,
        pending: Arc<Pending>,
    ) -> Result<()> {
        let pool = pool()?;
        let mut order = self.lock();
        if order.closed {
            return Err(Error::closed());
        }
        let ticket = order.issued;
        order.issued += 1;
        self.lock_statistics().accepted += 1;
        order.queue.push_back((ticket, Call { task, embedder, pending }));
        if order.threads < self.options.threads {
            order.threads += 1;
            let scorer = self.clone();
            pool.spawn_fifo(move || scorer.work());
        }
        Ok(())
    }

    /// Answers every call that has no answer yet with `CLOSED`, and then closes the scorer.
    pub fn end(&self) {
        {
            let mut order = self.lock();
            order.closed = true;
            let Order { queue, waiting, active, .. } = &*order;
            let queued = queue.iter().map(|(_, call)| &call.pending);
            let waiting = waiting.values().map(|finished| &finished.call.pending);
            let mut failed = 0;
            for pending in queued.chain(waiting).chain(active.values()) {
                failed += u64::from(pending.answer(|| Err(Error::closed())));
            }
            self.lock_statistics().failed += failed;
        }
        self.close();
    }

    /// Drops every call that is not yet answered, and returns when no thread works on one.
    ///
    /// A run of the model ends after the operation that it is in. Later calls are refused.
    pub fn close(&self) {
        let mut order = self.lock();
        order.closed = true;
        order.queue.clear();
        order.waiting.clear();
        for pending in order.active.values() {
            pending.cancel.cancel();
        }
        while !order.active.is_empty() {
            order = self.idle.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does one call of the queue; then makes room for other scorers before the next one.
    fn work(self: Arc<Self>) {
        let mut order = self.lock();
        let Some((ticket, call)) = order.queue.pop_front() else {
            order.threads -= 1;
            return;
        };
        order.active.insert(ticket, call.pending.clone());
        drop(order);
        self.embed(ticket, call);
        let mut order = self.lock();
        match pool() {
            Ok(pool) if !order.queue.is_empty() => {
                let scorer = self.clone();
                pool.spawn_fifo(move || scorer.work());
            }
            _ => order.threads -= 1,
        }
    }

    fn embed(&self, ticket: u64, call: Call) {
        let begun = (self.clock)();
        let nothing = Text::default();
        let text = call.pending.trace.as_ref().map_or(&nothing, |trace| trace.text());
        let outcome = if call.pending.is_aborted() {
            Err(Failure::Embedder(EmbedError::Cancelled))
        } else {
            let embed = || {
                fault::point("embed");
                call.embedder.embed(text, &call.pending.cancel)
            };
            match catch_unwind(AssertUnwindSafe(embed)) {
                Ok(outcome) => outcome.map_err(Failure::Embedder),
                Err(_) => Err(Failure::Panic),
            }
        };
        let ended = (self.clock)();
        let finished = Finished { call, outcome, begun, ended };
        let mut order = self.lock();
        if order.closed {
            // `close` has dropped what waits already; nobody would drop this.
            drop(finished);
        } else {
            order.waiting.insert(ticket, finished);
            if !order.settling {
                order = self.settle(order);
            }
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
            let Some(finished) = order.waiting.remove(&next) else { break };
            if order.closed {
                break;
            }
            drop(order);
            let pending = finished.call.pending.clone();
            let claim = pending.claim();
            let answered = matches!(claim, Claim::Cache).then_some(next);
            let result = match &claim {
                Claim::Nothing => Err(Error::aborted()),
                _ => catch_unwind(AssertUnwindSafe(|| self.outcome(finished, answered)))
                    .unwrap_or_else(|_| Err(Error::internal("scoring panicked"))),
            };
            order = self.lock();
            order.next += 1;
            let reply = match claim {
                Claim::Caller(reply) => reply,
                Claim::Cache => {
                    order.early = order.early.saturating_sub(1);
                    continue;
                }
                Claim::Nothing => continue,
            };
            {
                let mut statistics = self.lock_statistics();
                match &result {
                    Ok(_) => statistics.answered_after((self.clock)() - pending.since),
                    Err(_) => statistics.failed += 1,
                }
            }
            // A reply that panics has lost its own result; the others must not be lost with it.
            let _ = catch_unwind(AssertUnwindSafe(|| reply(result)));
        }
        order.settling = false;
        order
    }

    /// `answered` is the ticket of a call that has been answered before.
    fn outcome(&self, finished: Finished, answered: Option<u64>) -> Result<Outcome> {
        fault::point("score");
        let Finished { call, outcome, begun, ended } = finished;
        let Call { task, embedder, pending } = call;
        let embedded = match outcome {
            Ok(embedded) => Ok(embedded),
            Err(Failure::Panic) => return Err(Error::internal("embedding panicked")),
            Err(Failure::Embedder(error)) if embedder.is_required() => {
                return Err(Error::embedder_unavailable(error));
            }
            Err(Failure::Embedder(error)) => Err(error),
        };
        let (Some(task), Some(trace)) = (task, &pending.trace) else {
            return Ok(Outcome::WarmedUp(embedded.map(drop)));
        };
        let now = (self.clock)();
        let mut times =
            Times { queue: begun - pending.since, turn: now - ended, ..Times::default() };
        let (source, text) = match embedded {
            Ok(embedded) => {
                (times.tokenize, times.infer) = (embedded.tokenize, embedded.infer);
                (self.meet(task, trace.id(), &embedded, answered)?, Some(embedded.text))
            }
            Err(error) if task == Task::Remember => return Err(Error::embedder_unavailable(error)),
            Err(error) => (NoveltySource::NoEmbedder { reason: error.to_string().into() }, None),
        };
        if task == Task::Remember {
            return Ok(Outcome::Remembered);
        }
        let score = Score::of(trace, Novelty::from(source), &self.options.profiles);
        let end = (self.clock)();
        (times.cache, times.total) = (end - now, end - pending.since);
        Ok(Outcome::Scored(Box::new(Account { score, text, times })))
    }

    /// Compares an embedding with the cache and adds it, as the task wants; but not that of a call
    /// that was `answered`, with this ticket, before the cache was cleared.
    fn meet(
        &self,
        task: Task,
        id: Option<&Arc<str>>,
        embedded: &Embedded,
        answered: Option<u64>,
    ) -> Result<NoveltySource> {
        let mut cache = self.lock_cache();
        if answered.is_some_and(|ticket| ticket < self.cleared.load(Ordering::Relaxed)) {
            return Ok(NoveltySource::EmptyCache);
        }
        let source = match task {
            Task::Remember => NoveltySource::EmptyCache,
            _ => self.compare(&mut cache, &embedded.embedding[..])?,
        };
        if !matches!(task, Task::Peek(_)) {
            cache.add_named(&embedded.embedding[..], id.cloned(), (self.clock)())?;
        }
        Ok(source)
    }
}
