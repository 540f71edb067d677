//! A call: its work, and its answer.

use std::{
    borrow::Cow,
    mem::Discriminant,
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use knowledgepulse_workers::{CancelToken, fault};

use crate::{
    cache::VectorCache,
    clock::since,
    embed::{CallEmbedder, Embedded, Text},
    error::{Error, Result, StoreFault},
    id::Id,
    score::{Novelty, Report, Score, Times},
    scorer::common::{Change, Common, Found, Outcome},
    select::Candidate,
    sync::{Mutex, lock},
    trace::Trace,
};

/// The work of a call: the operations of a scorer. Whatever sets one apart from the others is in this file.
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
    Embed(Text),
    /// Embed a trace that can be selected, and find the nearest in the memory if that counts as kept before.
    Candidate(Input, bool),
    /// Load the embedder and use it once.
    WarmUp,
}

impl Work {
    /// Returns the trace that is to be scored.
    pub fn scored(&self) -> Option<&Input> {
        match self {
            Self::Score(input) | Self::Peek(input) | Self::Decide(input, _) => Some(input),
            _ => None,
        }
    }

    /// Returns the text that is to be embedded.
    fn text(&self) -> Option<Cow<'_, Text>> {
        Some(match self {
            Self::Score(input)
            | Self::Peek(input)
            | Self::Decide(input, _)
            | Self::Remember(input)
            | Self::Candidate(input, _) => Cow::Borrowed(&input.text),
            Self::Embed(text) | Self::Similar(Query { text, .. }) => Cow::Borrowed(text),
            // A tokenizer without special tokens gives an empty text no token.
            Self::WarmUp => Cow::Owned("warm up".into()),
            Self::Forget(_) | Self::Clear => return None,
        })
    }

    /// Returns the change of the memory after this outcome, without the vector that is added.
    pub fn change(&self, outcome: Option<&Outcome>) -> Option<Change> {
        let input = match (self, outcome) {
            (_, Some(Outcome::Scored(report))) if report.is_known => return None,
            (Self::Score(input) | Self::Remember(input), _) => input,
            (Self::Decide(input, least), Some(Outcome::Scored(report))) => {
                Some(input).filter(|_| report.score.value >= *least)?
            }
            (Self::Forget(id), _) => return Some(Change::Forget(Some(id.clone()?))),
            (Self::Clear, _) => return Some(Change::Clear),
            _ => return None,
        };
        Some(Change::Add { id: input.trace.id().cloned(), vector: None })
    }
}

/// A trace and its text.
#[derive(Debug)]
pub struct Input {
    /// The trace.
    pub trace: Trace,
    /// Its text; empty if nothing is embedded.
    pub text: Text,
    /// Whether it is compared only with traces that were added before the first one with its id, and not added after
    /// that, so that a trace that is scored again is not compared with itself.
    pub before_own: bool,
}

/// What to find in the memory.
#[derive(Debug)]
pub struct Query {
    /// The text.
    pub text: Text,
    /// The maximum number of traces.
    pub k: NonZeroUsize,
    /// The minimum similarity, in \[-1, 1\].
    pub at_least: f64,
}

/// Takes the result of a call, on any thread. Must not panic.
pub type Reply = Box<dyn FnOnce(Result<Outcome>) + Send>;

/// A memory at one moment.
pub(super) struct View<'a> {
    pub cache: &'a VectorCache,
    /// The time by the clock of the cache.
    pub now: Duration,
    pub since_1970: Duration,
    /// For the memory of a store, the number of its last entry, or why nothing can be compared with it.
    pub store: Option<Result<u64, &'static str>>,
}

/// A call, shared by its caller and the threads that work on it. No lock may be held when it is dropped, because that
/// drops its [`Owed`].
pub(super) struct Call {
    /// Taken by whoever answers the call. Without it, the call changes nothing.
    owed: Mutex<Option<Owed>>,
    common: Arc<Common>,
    pub work: Work,
    pub embedder: CallEmbedder,
    pub cancel: CancelToken,
}

impl Call {
    pub fn new(common: Arc<Common>, work: Work, embedder: CallEmbedder, reply: Reply) -> Arc<Self> {
        let (submitted, cancel) = (Instant::now(), CancelToken::default());
        let owed = Owed { common: common.clone(), submitted, taken: submitted, reply: Some(reply) };
        Arc::new(Self { owed: Mutex::new(Some(owed)), common, work, embedder, cancel })
    }

    /// Returns the obligation to answer the call, only once.
    pub fn take_owed(&self) -> Option<Owed> {
        let mut owed = lock(&self.owed).take()?;
        owed.taken = Instant::now();
        Some(owed)
    }

    /// Returns whether the call needs an embedder that is not loaded.
    pub fn loads(&self) -> bool {
        let is_slow = self.embedder.as_ref().is_ok_and(|embedder| !embedder.is_quick());
        is_slow && self.work.text().is_some() && !self.is_answered()
    }

    /// Does the part of the work that reads the memory.
    pub fn recall(&self, memory: &View, vector: &[f32]) -> Result<Outcome> {
        let View { cache, now, .. } = *memory;
        Ok(match &self.work {
            Work::Score(input) | Work::Peek(input) | Work::Decide(input, _) => {
                let (nearest, is_known) = match input.trace.id().filter(|_| input.before_own) {
                    Some(id) => cache.nearest_before(id, vector, now)?,
                    None => (cache.nearest(vector, now)?, false),
                };
                let novelty = match memory.store {
                    None => nearest.map_or(Novelty::EmptyCache, Novelty::Cache),
                    Some(Ok(seq)) => Novelty::Store { seq, nearest },
                    Some(Err(reason)) => Novelty::NoStore(reason.into()),
                };
                self.score(&input.trace, novelty, is_known)
            }
            Work::Similar(_) | Work::Candidate(_, true) => {
                let (k, at_least) = match &self.work {
                    Work::Similar(query) => (query.k, query.at_least),
                    _ => (NonZeroUsize::MIN, -1.0),
                };
                if let Some(Err(reason)) = memory.store {
                    return Err(Error::store(StoreFault::Unavailable, reason));
                }
                let found = |(nearest, age)| Found {
                    nearest,
                    added_at: memory.since_1970.saturating_sub(age),
                };
                let similar = cache.similar(vector, k, at_least, now)?;
                Outcome::Found(similar.into_iter().map(found).collect())
            }
            Work::Forget(_) | Work::Clear => Outcome::Removed(0),
            Work::WarmUp => Outcome::WarmedUp(Ok(())),
            Work::Remember(_) | Work::Embed(_) | Work::Candidate(_, false) => Outcome::Remembered,
        })
    }

    /// Scores the trace of the call.
    pub fn score(&self, trace: &Trace, novelty: Novelty, is_known: bool) -> Outcome {
        fault::point("score");
        let score = Score::of(trace, novelty, &self.common.options.profiles);
        Outcome::Scored(Box::new(Report { score, text: None, times: Times::default(), is_known }))
    }

    /// Returns whether the call is answered, or somebody is going to answer it.
    pub fn is_answered(&self) -> bool {
        lock(&self.owed).is_none()
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
    submitted: Instant,
    /// When it was taken from the call.
    taken: Instant,
    reply: Option<Reply>,
}

impl Owed {
    /// Answers the call, unless that is done.
    pub fn settle(&mut self, mut result: Result<Outcome>) {
        let Some(reply) = self.reply.take() else { return };
        let latency = since(self.submitted);
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
        let Some(Input { trace, .. }) = call.work.scored() else { return false };
        let Some(mut owed) = call.cancel() else { return false };
        owed.settle(Ok(call.score(trace, Novelty::OverBudget, false)));
        true
    }
}

/// A call that has been embedded, or could not be.
pub(super) struct EmbeddedCall {
    pub call: Arc<Call>,
    /// The embedding, empty for work without a text; or the answer if that does not depend on the memory.
    pub embedded: Result<Embedded, Result<Outcome>>,
    /// The outcome of a decision whose trace a store is about to add.
    pub accepted: Option<Outcome>,
    /// The kind of change that its request in the current batch appends to the store.
    pub appends: Option<Discriminant<Change>>,
    begun: Instant,
    ended: Instant,
}

impl EmbeddedCall {
    /// Embeds the text of a call.
    pub fn embed(call: Arc<Call>) -> Self {
        let begun = Instant::now();
        let embed = || {
            fault::point("embed");
            let Some(text) = call.work.text() else { return Ok(Embedded::default()) };
            // Its answer was taken.
            if call.cancel.is_cancelled() {
                return Err(Error::aborted());
            }
            call.embedder.as_ref().map_err(Clone::clone)?.embed(&text, &call.cancel)
        };
        let is_required = call.embedder.as_ref().is_ok_and(|embedder| embedder.is_required());
        let embed = || match (embed(), &call.work, call.work.scored()) {
            (Ok(embedded), Work::Embed(_), _) => Err(Ok(Outcome::Embedded(embedded.embedding))),
            (Ok(embedded), Work::Candidate(_, true), _) => Ok(embedded),
            (embedded, Work::Candidate(input, _), _) if embedded.is_ok() || !is_required => {
                Err(Ok(candidate(input, embedded, None)))
            }
            (Ok(embedded), ..) => Ok(embedded),
            (Err(reason), Work::WarmUp, _) if !is_required => {
                Err(Ok(Outcome::WarmedUp(Err(reason.into()))))
            }
            (Err(reason), _, Some(Input { trace, .. })) if !is_required => {
                Err(Ok(call.score(trace, Novelty::NoEmbedder(reason.into()), false)))
            }
            (Err(reason), ..) => Err(Err(Error::of_required(reason))),
        };
        let embedded = catch_unwind(AssertUnwindSafe(embed))
            .unwrap_or_else(|_| Err(Err(Error::internal("embedding panicked"))));
        Self { call, embedded, accepted: None, appends: None, begun, ended: Instant::now() }
    }

    /// Returns the embedding, if there is one.
    pub fn vector(&self) -> Option<&[f32]> {
        let embedded = self.embedded.as_ref().ok()?;
        Some(&*embedded.embedding).filter(|vector| !vector.is_empty())
    }

    /// Answers the call with what the memory has for it.
    pub fn answer(self, mut owed: Owed, recalled: Result<Outcome>) {
        let Self { call, embedded, begun, ended, .. } = self;
        let (mut times, mut text) = (Times::default(), None);
        let mut result = match embedded {
            Ok(embedded) => match (&call.work, recalled) {
                (Work::Candidate(input, _), Ok(Outcome::Found(mut found))) => {
                    Ok(candidate(input, Ok(embedded), found.pop()))
                }
                (_, recalled) => {
                    (times.tokenize, times.infer) = (embedded.tokenize, embedded.infer);
                    text = Some(embedded.text);
                    recalled
                }
            },
            // Warming up includes the store.
            Err(_) if recalled.is_err() && matches!(call.work, Work::WarmUp) => recalled,
            Err(known) => known,
        };
        if let Ok(Outcome::Scored(report)) = &mut result {
            times.queue = begun.saturating_duration_since(owed.submitted);
            times.turn = owed.taken.saturating_duration_since(ended);
            times.cache = since(owed.taken);
            (report.text, report.times) = (text, times);
        }
        owed.settle(result);
    }
}

fn candidate(input: &Input, embedded: Result<Embedded>, nearest: Option<Found>) -> Outcome {
    let nearest = nearest.map(|found| found.nearest);
    Outcome::Candidate(Candidate::new(input.trace.clone(), embedded, nearest).into())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::scorer::common::ScorerOptions;

    /// A call that another core has submitted, begun and embedded, whose clock is ahead.
    fn ahead(work: Work) -> (EmbeddedCall, Receiver<Result<Outcome>>) {
        let (sender, answers) = channel();
        let reply = Box::new(move |answer| sender.send(answer).expect("a receiver"));
        let call = Call::new(
            Common::new(ScorerOptions::default()),
            work,
            Err(Error::embedder_unavailable("none")),
            reply,
        );
        let later = Instant::now() + Duration::from_secs(3600);
        lock(&call.owed).as_mut().expect("no answer yet").submitted = later;
        (EmbeddedCall { ended: later, ..EmbeddedCall::embed(call) }, answers)
    }

    #[test]
    fn answer_comes_if_the_clock_of_another_core_is_ahead() {
        let (embedded, answers) = ahead(Work::Clear);
        let owed = embedded.call.take_owed().expect("no answer yet");
        embedded.answer(owed, Ok(Outcome::Removed(1)));
        assert_eq!(answers.try_recv(), Ok(Ok(Outcome::Removed(1))));
    }
}
