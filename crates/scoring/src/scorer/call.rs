//! One call on its way, shared by whoever made it and the threads that work on it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use knowledgepulse_tasks::CancelToken;

use super::{Input, Outcome, Report, Scorer, Times, Work, monotonic_clock};
use crate::{
    embed::Embed,
    error::{Error, Result},
    novelty::Novelty,
    score::Score,
};

/// Takes the result of a call, on whatever thread has it.
pub type Reply = Box<dyn FnOnce(Result<Outcome>) + Send>;

/// Hands a result over. A reply that panics has lost its own result; the others must not be lost
/// with it.
pub(super) fn answer(reply: Reply, result: Result<Outcome>) {
    let _ = catch_unwind(AssertUnwindSafe(|| reply(result)));
}

pub(super) struct Call {
    pub work: Work,
    pub embedder: Arc<dyn Embed>,
    /// When it was submitted.
    pub since: Duration,
    pub cancel: CancelToken,
    /// Whoever takes it answers the call. A call without it leaves no mark.
    reply: Mutex<Option<Reply>>,
}

impl Call {
    pub fn new(work: Work, embedder: Arc<dyn Embed>, reply: Reply) -> Self {
        let (since, cancel) = (monotonic_clock(), CancelToken::default());
        Self { work, embedder, since, cancel, reply: Mutex::new(Some(reply)) }
    }

    /// Returns the reply, to the first who asks for it.
    pub fn take_reply(&self) -> Option<Reply> {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns whether somebody has taken the reply.
    pub fn is_answered(&self) -> bool {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Returns the reply as [`Call::take_reply`] does, and cancels the work.
    pub fn cancel(&self) -> Option<Reply> {
        let reply = self.take_reply();
        if reply.is_some() {
            self.cancel.cancel();
        }
        reply
    }
}

/// A call on its way, for whoever may want to end it. It keeps nothing of the call in memory,
/// because a garbage collector may take its time to drop it.
#[derive(Clone)]
pub struct CallHandle {
    pub(super) scorer: Weak<Scorer>,
    pub(super) call: Weak<Call>,
}

impl CallHandle {
    /// Answers the call with `ABORTED`; it leaves no mark in the cache. Returns `false`, without
    /// effect, when the call has its answer or is getting it.
    pub fn abort(&self) -> bool {
        let Some((scorer, call)) = self.scorer.upgrade().zip(self.call.upgrade()) else {
            return false;
        };
        let Some(reply) = call.cancel() else { return false };
        scorer.count(|statistics| statistics.aborted += 1);
        answer(reply, Err(Error::aborted()));
        true
    }

    /// Answers a call that scores with the score without its embedding; it leaves no mark in the cache.
    /// Returns `false`, without effect, for other calls, and when the call has its answer or is getting it.
    pub fn end_budget(&self) -> bool {
        let Some((scorer, call)) = self.scorer.upgrade().zip(self.call.upgrade()) else {
            return false;
        };
        let (Work::Score(Input { trace, .. }) | Work::Peek(Input { trace, .. })) = &call.work
        else {
            return false;
        };
        let Some(reply) = call.cancel() else { return false };
        let score = Score::of(trace, Novelty::OverBudget, &scorer.options.profiles);
        let times = Times { total: monotonic_clock() - call.since, ..Times::default() };
        // Before the reply: who has it must find the call counted.
        scorer.count(|statistics| {
            statistics.over_budget += 1;
            statistics.answered_after(times.total);
        });
        answer(reply, Ok(Outcome::Scored(Box::new(Report { score, text: None, times }))));
        true
    }
}
