//! Answers before a call has had its turn, and how many such calls may wait for theirs.
//!
//! Nobody holds a call that has its answer, so nobody would notice how many of them wait for their
//! place in the cache. Beyond [`MOST_EARLY`], a score that needs no novelty waits for its turn like
//! any other, which changes no score; one with a budget, which would be over it behind so many
//! that were, is answered at once and leaves no mark.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Account, Outcome, Scorer, Times, deadlines::Deadlines, pending::Pending};
use crate::{
    dimensions::{Novelty, NoveltySource},
    error::{Error, Result},
    fault,
    score::Score,
    trace::Trace,
};

/// So many calls that have been answered may wait for their turn.
pub const MOST_EARLY: usize = 1024;

impl Scorer {
    /// Whether as many answered calls as may wait for their turn.
    pub(super) fn is_crowded(&self) -> bool {
        self.lock().early >= MOST_EARLY
    }

    /// Answers a call that gets no ticket.
    pub(super) fn turn_away(&self, pending: &Pending, outcome: Outcome) -> Result<()> {
        let order = self.lock();
        if order.closed {
            return Err(Error::closed());
        }
        pending.answer(|| Ok(outcome));
        let mut statistics = self.lock_statistics();
        statistics.accepted += 1;
        statistics.over_budget += 1;
        statistics.answered_after((self.clock)() - pending.since);
        Ok(())
    }

    /// The score of a trace without its embedding.
    pub(super) fn over_budget(&self, trace: &Trace, since: Duration) -> Outcome {
        let novelty = Novelty::from(NoveltySource::OverBudget);
        let score = Score::of(trace, novelty, &self.options.profiles);
        let times = Times { total: (self.clock)() - since, ..Times::default() };
        Outcome::Scored(Box::new(Account { score, text: None, times }))
    }

    /// Has the score without its embedding answer the call, if there is no other by then.
    pub(super) fn answer_within(
        self: &Arc<Self>,
        budget: Duration,
        deadlines: &'static Deadlines,
        pending: &Arc<Pending>,
    ) {
        let Some(when) = Instant::now().checked_add(budget) else { return };
        let (scorer, call) = (Arc::downgrade(self), Arc::downgrade(pending));
        let deadline = deadlines.at(when, move || {
            let (Some(scorer), Some(pending)) = (scorer.upgrade(), call.upgrade()) else {
                return;
            };
            fault::point("deadline");
            let Some(trace) = &pending.trace else { return };
            let outcome = scorer.over_budget(trace, pending.since);
            if scorer.answer_early(&pending, || outcome) {
                scorer.lock_statistics().over_budget += 1;
            }
        });
        pending.deadline.get_or_init(|| deadline);
    }

    /// Answers before the call has had its turn; says whether it did.
    pub(super) fn answer_early(
        &self,
        pending: &Pending,
        outcome: impl FnOnce() -> Outcome,
    ) -> bool {
        // Under the lock: after `close` nobody is to be answered.
        let mut order = self.lock();
        let counted = || {
            // Before the reply: who has it must not find the call pending any more.
            self.lock_statistics().answered_after((self.clock)() - pending.since);
            Ok(outcome())
        };
        let answered = !order.closed && pending.answer(counted);
        order.early += usize::from(answered);
        answered
    }
}
