//! Calls, and how they are answered.

use std::{
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use knowledgepulse_workers::{CancelToken, fault};

use crate::{
    cache::{Nearest, VectorCache},
    clock::since,
    embed::{CallEmbedder, Embedded},
    error::{Error, Result},
    id::Id,
    novelty::Novelty,
    score::Score,
    scorer::{
        ScorerOptions,
        report::{Found, Outcome, Report, Times},
        statistics::Statistics,
    },
    sync::{Mutex, MutexGuard},
    trace::Trace,
};

/// The work of a call.
#[derive(Debug)]
pub enum Work {
    /// Compare a trace with the memory, score it, and add it to the memory.
    Score(Input),
    /// Compare a trace with the memory and score it.
    Peek(Input),
    /// Compare a trace with the memory, score it, and add it to the memory if its score is at least this.
    Decide(Input, f64),
    /// Add a trace to the memory.
    Remember(Input),
    /// Find the traces in the memory that are most similar to a text.
    Similar(Query),
    /// Remove the traces with this id from the memory. `None` for a string that is the id of no trace.
    Forget(Option<Id>),
    /// Remove all traces from the memory.
    Clear,
    /// Embed a text.
    Embed(String),
    /// Load the embedder and use it once.
    WarmUp,
}

impl Work {
    /// Returns the trace that is to be scored.
    pub(super) fn scored(&self) -> Option<&Trace> {
        match self {
            Self::Score(input) | Self::Peek(input) | Self::Decide(input, _) => Some(&input.trace),
            _ => None,
        }
    }
}

/// A trace and its text.
#[derive(Debug)]
pub struct Input {
    /// The trace.
    pub trace: Trace,
    /// Its text, at least the part that is embedded; empty if nothing is embedded.
    pub text: String,
    /// Whether it is compared only with traces that were added before the first one with its id, so that a trace that
    /// is scored again is not compared with itself.
    pub before_own: bool,
}

/// What to find in the memory.
#[derive(Debug)]
pub struct Query {
    /// The text, at least the part that is embedded.
    pub text: String,
    /// The maximum number of traces.
    pub k: NonZeroUsize,
    /// The minimum similarity, in \[-1, 1\].
    pub at_least: f64,
}

/// Takes the result of a call, on any thread. Must not panic.
pub type Reply = Box<dyn FnOnce(Result<Outcome>) + Send>;

/// The state that a scorer shares with its calls.
pub(super) struct Common {
    pub options: ScorerOptions,
    statistics: Mutex<Statistics>,
    /// Set before the lists of calls are emptied for the last time. Whoever adds a call must hold the lock of the
    /// list and check this first.
    closed: AtomicBool,
}

impl Common {
    pub fn new(options: ScorerOptions) -> Arc<Self> {
        Arc::new(Self { options, statistics: Mutex::default(), closed: AtomicBool::default() })
    }

    pub fn count<R>(&self, count: impl FnOnce(&mut Statistics) -> R) -> R {
        count(&mut self.statistics.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}

/// A call, shared by its caller and the threads that work on it. No lock may be held when it is dropped, because that
/// drops its [`Owed`].
pub(super) struct Call {
    /// Taken by whoever answers the call. Without it, the call changes nothing.
    owed: Mutex<Option<Owed>>,
    common: Arc<Common>,
    pub work: Work,
    pub embedder: CallEmbedder,
    /// When it was submitted.
    since: Instant,
    pub cancel: CancelToken,
}

impl Call {
    pub fn new(common: Arc<Common>, work: Work, embedder: CallEmbedder, reply: Reply) -> Arc<Self> {
        let (since, cancel) = (Instant::now(), CancelToken::default());
        let owed = Owed { common: common.clone(), since, reply: Some(reply) };
        Arc::new(Self { owed: Mutex::new(Some(owed)), common, work, embedder, since, cancel })
    }

    fn owed(&self) -> MutexGuard<'_, Option<Owed>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the obligation to answer the call, only once.
    pub fn take_owed(&self) -> Option<Owed> {
        self.owed().take()
    }

    /// Does the part of the work that reads the cache. `novelty` converts the nearest trace. The present time is given
    /// both by the clock of the cache and since 1970.
    pub fn recall(
        &self,
        cache: &VectorCache,
        vector: &[f32],
        [now, since_1970]: [Duration; 2],
        novelty: impl FnOnce(Option<Nearest>) -> Novelty,
    ) -> Result<Outcome> {
        Ok(match &self.work {
            Work::Score(input) | Work::Peek(input) | Work::Decide(input, _) => {
                let nearest = match input.trace.id().filter(|_| input.before_own) {
                    Some(id) => cache.nearest_before(id, vector, now)?,
                    None => cache.nearest(vector, now)?,
                };
                self.score(&input.trace, novelty(nearest))
            }
            Work::Similar(Query { k, at_least, .. }) => {
                let similar = cache.similar(vector, *k, *at_least, now)?;
                let found = |(Nearest { similarity, id }, age)| {
                    let added_at = since_1970.saturating_sub(age);
                    Found { id, similarity, added_at }
                };
                Outcome::Found(similar.into_iter().map(found).collect())
            }
            Work::Forget(_) | Work::Clear => Outcome::Removed(0),
            Work::Remember(_) | Work::WarmUp | Work::Embed(_) => Outcome::Remembered,
        })
    }

    /// Scores the trace of the call.
    pub fn score(&self, trace: &Trace, novelty: Novelty) -> Outcome {
        let score = Score::of(trace, novelty, &self.common.options.profiles);
        Outcome::Scored(Box::new(Report { score, text: None, times: Times::default() }))
    }

    /// Returns the trace that a call with this outcome adds to the memory.
    pub fn added(&self, outcome: &Outcome) -> Option<&Trace> {
        match (&self.work, outcome) {
            (Work::Score(input) | Work::Remember(input), _) => Some(&input.trace),
            (Work::Decide(input, least), Outcome::Scored(report)) => {
                (report.score.value >= *least).then_some(&input.trace)
            }
            _ => None,
        }
    }

    /// Returns whether the call is answered, or somebody is going to answer it.
    pub fn is_answered(&self) -> bool {
        self.owed().is_none()
    }

    /// Cancels the work. Returns the obligation to answer the call, as [`Call::take_owed`] does.
    pub fn cancel(&self) -> Option<Owed> {
        let owed = self.take_owed()?;
        self.cancel.cancel();
        Some(owed)
    }
}

/// The obligation to answer a call. Dropping it answers `INTERNAL`, or `CLOSED` once the scorer is closed, which runs
/// the reply; so no lock may be held then.
pub(super) struct Owed {
    common: Arc<Common>,
    since: Instant,
    reply: Option<Reply>,
}

impl Owed {
    /// Answers the call, unless that is done.
    pub fn settle(&mut self, mut result: Result<Outcome>) {
        let Some(reply) = self.reply.take() else { return };
        let latency = since(self.since);
        if let Ok(Outcome::Scored(report)) = &mut result {
            report.times.total = latency;
        }
        // First, so that the reply sees the call counted.
        self.common.count(|statistics| statistics.count(&result, latency));
        // If it panics, only this result is lost.
        let _ = catch_unwind(AssertUnwindSafe(|| reply(result)));
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        let dropped = || Error::internal("the call was dropped without an answer");
        let is_closed = self.common.is_closed();
        self.settle(Err(if is_closed { Error::closed() } else { dropped() }));
    }
}

/// Ends a call early. Holds the call weakly, because a garbage collector may drop the handle late.
#[derive(Clone, Default)]
pub struct CallHandle(pub(super) Weak<Call>);

impl CallHandle {
    /// Answers the call with `ABORTED`; the memory stays unchanged. Returns `false`, without effect, if the call has
    /// been answered or is being answered.
    pub fn abort(&self) -> bool {
        let Some(call) = self.0.upgrade() else { return false };
        let Some(mut owed) = call.cancel() else { return false };
        owed.settle(Err(Error::aborted()));
        true
    }

    /// Answers a call that scores with the score without an embedding; the memory stays unchanged. Returns `false`,
    /// without effect, for other calls, and if the call has been answered or is being answered.
    pub fn end_budget(&self) -> bool {
        let Some(call) = self.0.upgrade() else { return false };
        let Some(trace) = call.work.scored() else { return false };
        let Some(mut owed) = call.cancel() else { return false };
        owed.settle(Ok(call.score(trace, Novelty::OverBudget)));
        true
    }
}

/// A call that has been embedded, or could not be.
pub(super) struct EmbeddedCall {
    pub call: Arc<Call>,
    /// The embedding, empty for work without a text; or the reason for its absence if scores do not require one.
    pub embedded: Result<Result<Embedded, Arc<str>>>,
    /// The outcome of a decision whose trace a store is about to add.
    pub accepted: Option<Outcome>,
    /// Whether its request in the current batch appends to the store.
    pub appends: bool,
    begun: Instant,
    ended: Instant,
}

impl EmbeddedCall {
    /// Embeds the text of a call.
    pub fn embed(call: Arc<Call>) -> Self {
        let begun = Instant::now();
        let text = match &call.work {
            Work::Score(input)
            | Work::Peek(input)
            | Work::Decide(input, _)
            | Work::Remember(input) => Some(&*input.text),
            Work::Embed(text) | Work::Similar(Query { text, .. }) => Some(&**text),
            // A tokenizer without special tokens gives an empty text no token.
            Work::WarmUp => Some("warm up"),
            Work::Forget(_) | Work::Clear => None,
        };
        let embed = || {
            fault::point("embed");
            let Some(text) = text else { return Ok(Embedded::default()) };
            // Its answer was taken.
            if call.cancel.is_cancelled() {
                return Err("cancelled".into());
            }
            call.embedder.as_ref().map_err(Arc::clone)?.embed(text, &call.cancel)
        };
        let is_required = call.embedder.as_ref().is_ok_and(|embedder| embedder.is_required());
        let embedded = match catch_unwind(AssertUnwindSafe(embed)) {
            Err(_) => Err(Error::internal("embedding panicked")),
            Ok(Err(reason)) if is_required => Err(Error::embedder_unavailable(reason)),
            Ok(embedded) => Ok(embedded),
        };
        Self { call, embedded, accepted: None, appends: false, begun, ended: Instant::now() }
    }

    /// Returns the embedding, if there is one.
    pub fn embedding(&self) -> Option<&[f32]> {
        let embedded = self.embedded.as_ref().ok()?.as_ref().ok()?;
        Some(&embedded.embedding)
    }

    /// Answers the call, unless it was aborted or closed, or its budget is over. `recall` takes the embedding and
    /// returns the part from the memory.
    pub fn conclude(self, recall: impl FnOnce(&Embedded) -> Result<Outcome>) {
        let Some(mut owed) = self.call.take_owed() else { return };
        let result = catch_unwind(AssertUnwindSafe(|| self.outcome(recall)))
            .unwrap_or_else(|_| Err(Error::internal("scoring panicked")));
        owed.settle(result);
    }

    fn outcome(self, recall: impl FnOnce(&Embedded) -> Result<Outcome>) -> Result<Outcome> {
        fault::point("score");
        let Self { call, embedded, begun, ended, .. } = self;
        let start = Instant::now();
        let mut times = Times {
            queue: begun.saturating_duration_since(call.since),
            turn: start.saturating_duration_since(ended),
            ..Times::default()
        };
        let mut text = None;
        let mut outcome = match (&call.work, embedded?) {
            (Work::WarmUp, embedded) => {
                recall(embedded.as_ref().unwrap_or(&Embedded::default()))?;
                Outcome::WarmedUp(embedded.map(drop))
            }
            (work, Err(reason)) => match work.scored() {
                Some(trace) => call.score(trace, Novelty::NoEmbedder(reason)),
                None => return Err(Error::embedder_unavailable(reason)),
            },
            (Work::Embed(_), Ok(embedded)) => Outcome::Embedded(embedded.embedding),
            (_, Ok(embedded)) => {
                let outcome = recall(&embedded)?;
                (times.tokenize, times.infer) = (embedded.tokenize, embedded.infer);
                text = Some(embedded.text);
                outcome
            }
        };
        if let Outcome::Scored(report) = &mut outcome {
            times.cache = since(start);
            (report.text, report.times) = (text, times);
        }
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// A call that another core has submitted, begun and embedded, whose clock is ahead.
    fn ahead(work: Work) -> (EmbeddedCall, std::sync::mpsc::Receiver<Result<Outcome>>) {
        let (sender, answers) = channel();
        let reply = Box::new(move |answer| sender.send(answer).expect("a receiver"));
        let call =
            Call::new(Common::new(ScorerOptions::default()), work, Err("none".into()), reply);
        let mut call = Arc::into_inner(call).expect("the only one");
        let later = Instant::now() + Duration::from_secs(3600);
        call.since = later;
        call.owed().as_mut().expect("no answer yet").since = later;
        let embedded = EmbeddedCall::embed(Arc::new(call));
        (EmbeddedCall { ended: later, ..embedded }, answers)
    }

    #[test]
    fn conclude_answers_if_the_clock_of_another_core_is_ahead() {
        let (embedded, answers) = ahead(Work::Clear);
        embedded.conclude(|_| Ok(Outcome::Removed(1)));
        assert_eq!(answers.try_recv(), Ok(Ok(Outcome::Removed(1))));
    }
}
