//! One call on its way, shared by whoever made it and the threads that work on it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError, Weak},
    time::Duration,
};

use knowledgepulse_workers::CancelToken;

use super::{Input, Outcome, Report, Scorer, Times, Work, monotonic_clock};
use crate::{
    embed::Embed,
    error::{Error, Result},
    novelty::Novelty,
    score::Score,
    sync::Mutex,
};

/// Takes the result of a call, on whatever thread has it.
pub type Reply = Box<dyn FnOnce(Result<Outcome>) + Send>;

/// Hands a result over. A reply that panics loses its own result only.
pub(super) fn answer(reply: Reply, result: Result<Outcome>) {
    let _ = catch_unwind(AssertUnwindSafe(|| reply(result)));
}

/// A call. Dropping it without an answer answers `INTERNAL`, or `CLOSED` after [`Scorer::close`], which runs the
/// reply; so no lock may be held then.
pub(super) struct Call {
    scorer: Weak<Scorer>,
    pub work: Work,
    pub embedder: Arc<dyn Embed>,
    /// When it was submitted.
    pub since: Duration,
    pub cancel: CancelToken,
    /// Whoever takes it answers the call. A call without it leaves no mark.
    reply: Mutex<Option<Reply>>,
}

impl Call {
    pub fn new(
        scorer: &Arc<Scorer>,
        work: Work,
        embedder: Arc<dyn Embed>,
        reply: Reply,
    ) -> Arc<Self> {
        let (since, cancel) = (monotonic_clock(), CancelToken::default());
        let (scorer, reply) = (Arc::downgrade(scorer), Mutex::new(Some(reply)));
        Arc::new(Self { scorer, work, embedder, since, cancel, reply })
    }

    /// Returns the answer that is owed, to the first who asks for it.
    pub fn take_answer(&self) -> Option<Owed<'_>> {
        let reply = self.reply.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Owed { call: self, reply: Some(reply) })
    }

    /// Returns whether somebody has taken the reply.
    pub fn is_answered(&self) -> bool {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Returns the answer that is owed, as [`Call::take_answer`] does, and cancels the work.
    pub fn cancel(&self) -> Option<Owed<'_>> {
        let owed = self.take_answer()?;
        self.cancel.cancel();
        Some(owed)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        drop(self.take_answer());
    }
}

/// The right, and the duty, to answer a call. Dropping it answers as dropping the [`Call`] does.
pub(super) struct Owed<'a> {
    call: &'a Call,
    reply: Option<Reply>,
}

impl Owed<'_> {
    /// Answers the call.
    pub fn settle(mut self, result: Result<Outcome>) {
        self.give(result);
    }

    fn give(&mut self, result: Result<Outcome>) {
        let Some(reply) = self.reply.take() else { return };
        // Before the reply: who has it must find the call counted.
        if let Some(scorer) = self.call.scorer.upgrade() {
            let latency = monotonic_clock() - self.call.since;
            scorer.count(|statistics| statistics.count(&result, latency));
        }
        answer(reply, result);
    }
}

impl Drop for Owed<'_> {
    fn drop(&mut self) {
        let is_closed = self.call.scorer.upgrade().is_none_or(|scorer| scorer.is_closed());
        let dropped = || Error::internal("the call was dropped without an answer");
        self.give(Err(if is_closed { Error::closed() } else { dropped() }));
    }
}

/// A call on its way, for whoever may want to end it. It keeps nothing of the call in memory,
/// because a garbage collector may take its time to drop it.
#[derive(Clone, Default)]
pub struct CallHandle(pub(super) Weak<Call>);

impl CallHandle {
    /// Answers the call with `ABORTED`; it leaves no mark in the cache. Returns `false`, without
    /// effect, when the call has its answer or is getting it.
    pub fn abort(&self) -> bool {
        let Some(call) = self.0.upgrade() else { return false };
        let Some(owed) = call.cancel() else { return false };
        owed.settle(Err(Error::aborted()));
        true
    }

    /// Answers a call that scores with the score without its embedding; it leaves no mark in the cache.
    /// Returns `false`, without effect, for other calls, and when the call has its answer or is getting it.
    pub fn end_budget(&self) -> bool {
        let Some(call) = self.0.upgrade() else { return false };
        let Some(scorer) = call.scorer.upgrade() else { return false };
        let (Work::Score(Input { trace, .. }) | Work::Peek(Input { trace, .. })) = &call.work
        else {
            return false;
        };
        let Some(owed) = call.cancel() else { return false };
        let score = Score::of(trace, Novelty::OverBudget, &scorer.options.profiles);
        let times = Times { total: monotonic_clock() - call.since, ..Times::default() };
        owed.settle(Ok(Outcome::Scored(Box::new(Report { score, text: None, times }))));
        true
    }
}
