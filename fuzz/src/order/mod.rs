//! Calls of a scorer that run side by side, and the same calls one after another.

mod call;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use arbitrary::{Arbitrary, Result, Unstructured};
use knowledgepulse_scoring::{
    cache::{CacheOptions, VectorCache},
    dimensions::{Novelty, NoveltySource},
    embedder::EmbedError,
    error,
    score::Score,
    scorer::{CallHandle, Detail, Outcome, Scorer, ScorerOptions, Task, monotonic_clock},
    weights::Profiles,
};

use call::{Axes, Call, Operation, axes, name};

const MOST_OPERATIONS: usize = 48;

/// The number of every call that only warms up.
const WARM_UP: usize = usize::MAX;

type Answer = error::Result<Outcome>;

/// What has happened since the last time that everything was compared.
enum Event {
    Call { at: usize, call: Call, is_aborted: bool },
    Clear,
}

pub struct Lockstep {
    scorer: Arc<Scorer>,
    embedder: Arc<Axes>,
    sender: Sender<(usize, Answer)>,
    receiver: Receiver<(usize, Answer)>,
    handles: Vec<(CallHandle, bool)>,
    events: Vec<Event>,
    /// The cache of the calls one after another.
    cache: VectorCache,
    submitted: u64,
    aborted: u64,
    failed: u64,
}

impl Lockstep {
    pub fn run(bytes: &mut Unstructured) -> Result<()> {
        let max_elements = bytes.int_in_range(1..=8)?;
        let options = ScorerOptions {
            cache: CacheOptions { max_elements, ..CacheOptions::default() },
            threads: bytes.int_in_range(1..=3)?,
            ..ScorerOptions::default()
        };
        let (sender, receiver) = channel();
        let mut lockstep = Self {
            cache: VectorCache::new(options.cache).expect("a cache"),
            scorer: Scorer::new(monotonic_clock, options).expect("a scorer"),
            embedder: Arc::new(Axes { is_required: bool::arbitrary(bytes)? }),
            sender,
            receiver,
            handles: Vec::new(),
            events: Vec::new(),
            submitted: 0,
            aborted: 0,
            failed: 0,
        };
        let end = u8::arbitrary(bytes)?;
        for _ in 0..MOST_OPERATIONS {
            if bytes.is_empty() {
                break;
            }
            lockstep.step(Operation::arbitrary(bytes)?);
        }
        match end % 3 {
            0 => lockstep.wait(),
            1 => lockstep.close(Scorer::close),
            _ => lockstep.close(Scorer::end),
        }
        Ok(())
    }

    fn reply(&self, at: usize) -> Box<dyn FnOnce(Answer) + Send> {
        let sender = self.sender.clone();
        Box::new(move |answer| {
            // Nobody listens any more when a comparison has failed.
            let _ = sender.send((at, answer));
        })
    }

    fn is_early(&self, call: &Call) -> bool {
        let asks = matches!(call.task(), Task::Score(Detail::Value) | Task::Peek(Detail::Value));
        asks && call.is_thought && !self.embedder.is_required
    }

    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::Call(call) => {
                let at = self.handles.len();
                let reply = self.reply(at);
                let embedder = self.embedder.clone();
                let handle = self.scorer.submit(call.task(), call.trace(), embedder, reply);
                self.submitted += 1;
                self.handles.push((handle.expect("a call"), self.is_early(&call)));
                self.events.push(Event::Call { at, call, is_aborted: false });
            }
            Operation::Abort(back) => {
                let count = self.handles.len();
                let Some(at) = count.checked_sub(1 + usize::from(back % 8)) else { return };
                let (handle, is_early) = &self.handles[at];
                if !handle.abort() {
                    return;
                }
                assert!(!is_early, "an answered call was aborted");
                let mut calls = self.events.iter_mut();
                let aborted = calls.find_map(|event| match event {
                    Event::Call { at: other, is_aborted, .. } if *other == at => Some(is_aborted),
                    _ => None,
                });
                let before = std::mem::replace(aborted.expect("a call on its way"), true);
                assert!(!before, "a call was aborted twice");
                self.aborted += 1;
            }
            Operation::Wait => self.wait(),
            Operation::WarmUp => drop(self.warm_up()),
            Operation::Clear => {
                // Whether a call on its way comes before or after is up to the threads, unless it
                // has been answered.
                let is_call = |event: &Event| matches!(event, Event::Call { .. });
                let first = self.handles.len() - self.events.iter().filter(|e| is_call(e)).count();
                if self.handles[first..].iter().any(|(_, is_early)| !is_early) {
                    self.wait();
                }
                self.scorer.clear_cache();
                self.events.push(Event::Clear);
            }
            Operation::Forget(id) => {
                self.wait();
                let removed = self.cache.remove(&name(id), Duration::ZERO);
                assert_eq!(self.scorer.forget(&name(id)), removed);
            }
        }
    }

    fn warm_up(&mut self) -> CallHandle {
        self.submitted += 1;
        let reply = self.reply(WARM_UP);
        self.scorer.warm_up(self.embedder.clone(), reply).expect("a call")
    }

    /// Waits for everything, and compares it.
    fn wait(&mut self) {
        let (sender, done) = channel();
        self.submitted += 1;
        let reply = Box::new(move |answer| {
            let _ = sender.send(answer);
        });
        let warm_up = self.scorer.warm_up(self.embedder.clone(), reply);
        drop(warm_up.expect("a call"));
        let answer = done.recv().expect("an answer");
        assert_eq!(answer, Ok(Outcome::WarmedUp(Ok(()))));
        let answers: Vec<_> = self.receiver.try_iter().collect();
        self.compare(answers, None);
        let statistics = self.scorer.statistics();
        assert_eq!(statistics.accepted, self.submitted);
        assert_eq!(statistics.aborted, self.aborted);
        assert_eq!(statistics.failed, self.failed);
        assert_eq!(statistics.pending(), 0);
        let mut cache = self.scorer.cache().lock().expect("the cache");
        let found = cache.entries(monotonic_clock()).map(|entry| (entry.vector.to_vec(), entry.id));
        let expected =
            self.cache.entries(Duration::ZERO).map(|entry| (entry.vector.to_vec(), entry.id));
        assert!(found.eq(expected), "the caches differ");
    }

    /// Ends the scorer in the middle of it, and compares what was answered until then.
    fn close(mut self, close: fn(&Scorer)) {
        close(&self.scorer);
        let reply = self.reply(WARM_UP);
        let call = Call { task: 1, text: 0, is_thought: false, id: None };
        let late = self.scorer.submit(call.task(), call.trace(), self.embedder.clone(), reply);
        assert_eq!(late.err().map(|error| error.code()), Some("CLOSED"));
        self.handles.clear();
        self.sender = channel().0;
        // Ends when nobody can answer any more.
        let answers: Vec<_> = self.receiver.iter().collect();
        self.compare(answers, Some(error::Error::closed()));
    }

    /// Does the same calls one after another. Those that a `closed` scorer has not answered come
    /// after all that it has.
    fn compare(&mut self, answers: Vec<(usize, Answer)>, closed: Option<error::Error>) {
        let mut answers: HashMap<_, _> = answers.into_iter().collect();
        answers.remove(&WARM_UP);
        let mut is_over = false;
        for event in std::mem::take(&mut self.events) {
            let Event::Call { at, call, is_aborted } = event else {
                self.cache.clear();
                continue;
            };
            let found = answers.remove(&at);
            if is_aborted {
                assert_eq!(found, Some(Err(error::Error::aborted())));
                continue;
            }
            let unanswered = match (&found, &closed) {
                (None, Some(_)) => true,
                (Some(Err(error)), Some(closed)) => error == closed,
                _ => false,
            };
            if unanswered {
                is_over = true;
                continue;
            }
            let expected = self.one(&call);
            self.failed += u64::from(expected.is_err());
            assert!(!is_over || self.is_early(&call), "a later call was answered");
            let value = |answer: &Answer| match answer {
                // Its turn may come before the early answer; the number is the same.
                Ok(Outcome::Scored(account)) if self.is_early(&call) => {
                    Ok((None, Some(account.score.value)))
                }
                Ok(Outcome::Scored(account)) => Ok((Some(account.score.clone()), None)),
                Ok(Outcome::Value(value)) => Ok((None, Some(*value))),
                Ok(_) => Ok((None, None)),
                Err(error) => Err(error.clone()),
            };
            let found = found.expect("an answer");
            if !is_over {
                assert_eq!(value(&found), expected);
            }
        }
        assert!(answers.is_empty(), "{answers:?} were not asked for");
    }

    /// One call, with nothing beside it.
    fn one(&mut self, call: &Call) -> error::Result<(Option<Score>, Option<f64>)> {
        let now = Duration::ZERO;
        let trace = call.trace();
        let embedding = axes(call.text().into());
        let failed = EmbedError::Runtime("as told".into());
        let task = call.task();
        let source = match &embedding {
            None if self.embedder.is_required || task == Task::Remember => {
                return Err(error::Error::embedder_unavailable(failed));
            }
            None => NoveltySource::NoEmbedder { reason: failed.to_string().into() },
            Some(embedding) => match self.cache.nearest(&embedding[..], now)? {
                None => NoveltySource::EmptyCache,
                Some(nearest) => {
                    NoveltySource::Cache { max_similarity: nearest.similarity, nearest: nearest.id }
                }
            },
        };
        if let Some(embedding) = embedding.filter(|_| !matches!(task, Task::Peek(_))) {
            self.cache.add_named(&embedding[..], trace.id().cloned(), now)?;
        }
        let score = Score::of(&trace, Novelty::from(source), Profiles::built_in());
        Ok(match task {
            Task::Remember => (None, None),
            _ if self.is_early(call) => (None, Some(score.value)),
            _ => (Some(score), None),
        })
    }
}
