//! Calls of a scorer that run side by side, and the same calls one after another.

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
    Error, Novelty, Profiles, Score, Scorer,
    cache::CacheOptions,
    scorer::{CallHandle, Input, Outcome, Reply, ScorerOptions, Work},
};
use knowledgepulse_test_support::{
    FakeEmbedder, cache::NaiveCache, embedder::FAILURE, input, trace,
};
use serde_json::json;

const MOST_OPERATIONS: usize = 48;

/// Reached by what is half as new as can be.
const THRESHOLD: f64 = 0.25;

type Answer = knowledgepulse_scoring::Result<Outcome>;

#[derive(Debug, Clone, Arbitrary)]
enum Operation {
    Call(Call),
    /// Of the call so many before.
    Abort(u8),
    /// Of the call so many before.
    EndBudget(u8),
    /// Waits for everything before it.
    Wait,
    WarmUp,
    Clear,
    Forget(u8),
}

/// What a call asked for.
#[derive(Debug)]
enum Asked {
    Call(Call),
    Clear,
    Forget(u8),
}

impl Asked {
    fn work(&self) -> Work {
        match self {
            Self::Call(call) => call.work(),
            Self::Clear => Work::Clear,
            Self::Forget(id) => Work::Forget(name(*id).into()),
        }
    }
}

#[derive(Debug, Clone, Arbitrary)]
struct Call {
    work: u8,
    text: u8,
    is_thought: bool,
    id: Option<u8>,
}

impl Call {
    /// The last two of ten texts have no embedding.
    fn number(&self) -> Option<usize> {
        let number = usize::from(self.text % 10);
        (number < 8).then_some(number)
    }

    fn input(&self) -> Input {
        let text = self.number().map_or("fail".to_owned(), |number| number.to_string());
        let step = json!({ "type": "thought" });
        input(&trace(json!({
            "id": self.id.map(name),
            "task": { "objective": text },
            "steps": if self.is_thought { vec![step] } else { vec![] },
        })))
    }

    fn work(&self) -> Work {
        match self.work % 4 {
            0 => Work::Score(self.input()),
            1 => Work::Peek(self.input()),
            2 => Work::Decide(self.input(), THRESHOLD),
            _ => Work::Remember(self.input()),
        }
    }
}

fn name(id: u8) -> String {
    (id % 3).to_string()
}

/// How a call was ended before its turn.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ended {
    Aborted,
    OverBudget,
}

/// A call since the last comparison.
struct Submitted {
    at: usize,
    asked: Asked,
    ended: Option<Ended>,
}

/// The outcome of a call, without what depends on the time.
#[derive(Debug, PartialEq)]
enum Found {
    Scored(Score),
    Remembered,
    Removed(usize),
}

type Expected = knowledgepulse_scoring::Result<Found>;

/// A scorer, and everything that has been asked of it.
pub struct Lockstep {
    scorer: Arc<Scorer>,
    embedder: Arc<FakeEmbedder>,
    sender: Sender<(usize, Answer)>,
    receiver: Receiver<(usize, Answer)>,
    handles: Vec<CallHandle>,
    /// Not compared yet.
    submitted: Vec<Submitted>,
    /// The cache of the calls one after another.
    cache: NaiveCache,
    accepted: u64,
    aborted: u64,
    over_budget: u64,
    failed: u64,
}

impl Lockstep {
    /// Does what the fuzzer's bytes say.
    pub fn run(bytes: &mut Unstructured) -> Result<()> {
        let max_elements = bytes.int_in_range(1..=8)?;
        let options = ScorerOptions {
            cache: CacheOptions { max_elements, ..CacheOptions::default() },
            concurrency: bytes.int_in_range(1..=3)?,
            ..ScorerOptions::default()
        };
        let is_required = bool::arbitrary(bytes)?;
        let (sender, receiver) = channel();
        let mut lockstep = Self {
            cache: NaiveCache::new(options.cache),
            scorer: Scorer::new(options).expect("a scorer"),
            embedder: if is_required { FakeEmbedder::required() } else { FakeEmbedder::new() },
            sender,
            receiver,
            handles: Vec::new(),
            submitted: Vec::new(),
            accepted: 0,
            aborted: 0,
            over_budget: 0,
            failed: 0,
        };
        let is_closed = bool::arbitrary(bytes)?;
        for _ in 0..MOST_OPERATIONS {
            if bytes.is_empty() {
                break;
            }
            lockstep.step(Operation::arbitrary(bytes)?);
        }
        if is_closed {
            lockstep.close();
        } else {
            lockstep.wait();
        }
        Ok(())
    }

    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::Call(call) => self.submit(Asked::Call(call)),
            Operation::Clear => self.submit(Asked::Clear),
            Operation::Forget(id) => self.submit(Asked::Forget(id)),
            Operation::Abort(back) => {
                let is_ended = self.end(back, CallHandle::abort, Ended::Aborted);
                self.aborted += u64::from(is_ended);
            }
            Operation::EndBudget(back) => {
                let is_ended = self.end(back, CallHandle::end_budget, Ended::OverBudget);
                self.over_budget += u64::from(is_ended);
            }
            Operation::Wait => self.wait(),
            Operation::WarmUp => {
                self.accepted += 1;
                let reply = Box::new(|answer| {
                    let is_done = matches!(answer, Ok(Outcome::WarmedUp(Ok(()))));
                    assert!(is_done || answer == Err(Error::closed()), "{answer:?}");
                });
                self.scorer.submit(Work::WarmUp, Ok(self.embedder.clone()), reply);
            }
        }
    }

    fn submit(&mut self, asked: Asked) {
        let at = self.handles.len();
        let handle = self.scorer.submit(asked.work(), Ok(self.embedder.clone()), self.reply(at));
        self.accepted += 1;
        self.handles.push(handle);
        self.submitted.push(Submitted { at, asked, ended: None });
    }

    fn reply(&self, at: usize) -> Reply {
        let sender = self.sender.clone();
        Box::new(move |answer| {
            // Nobody listens any more when a comparison has failed.
            let _ = sender.send((at, answer));
        })
    }

    /// Ends one of the latest calls, if it has no answer yet.
    fn end(&mut self, back: u8, end: fn(&CallHandle) -> bool, ended: Ended) -> bool {
        let Some(at) = self.handles.len().checked_sub(1 + usize::from(back % 8)) else {
            return false;
        };
        let is_ended = end(&self.handles[at]);
        if is_ended {
            let call = self.submitted.iter_mut().find(|submitted| submitted.at == at);
            let call = call.expect("a call without an answer");
            assert_eq!(call.ended.replace(ended), None, "a call was ended twice");
        }
        is_ended
    }

    /// Waits for everything, and compares it.
    fn wait(&mut self) {
        let (sender, done) = channel();
        self.accepted += 1;
        let reply = Box::new(move |answer| {
            let _ = sender.send(answer);
        });
        self.scorer.submit(Work::WarmUp, Ok(self.embedder.clone()), reply);
        assert_eq!(done.recv().expect("an answer"), Ok(Outcome::WarmedUp(Ok(()))));
        self.compare(false);
        let statistics = self.scorer.statistics();
        assert_eq!(statistics.accepted, self.accepted);
        assert_eq!(statistics.aborted, self.aborted);
        assert_eq!(statistics.over_budget, self.over_budget);
        assert_eq!(statistics.failed, self.failed);
        assert_eq!(statistics.pending(), 0);
    }

    /// Closes the scorer in the middle of it, and compares what was answered until then.
    fn close(mut self) {
        self.scorer.close();
        self.compare(true);
        assert_eq!(self.scorer.statistics().pending(), 0);
        let call = Call { work: 1, text: 0, is_thought: false, id: None };
        self.scorer.submit(call.work(), Ok(self.embedder.clone()), self.reply(0));
        let (_, answer) = self.receiver.try_recv().expect("an answer at once");
        assert_eq!(answer, Err(Error::closed()));
    }

    /// Does the same calls one after another, and compares answers and caches. The calls that a scorer
    /// has closed come after all that it has settled.
    fn compare(&mut self, is_closed: bool) {
        let mut answers: HashMap<_, _> = self.receiver.try_iter().collect();
        let mut is_over = false;
        for Submitted { at, asked, ended } in std::mem::take(&mut self.submitted) {
            let found = match answers.remove(&at).expect("an answer") {
                Ok(Outcome::Scored(report)) => Ok(Found::Scored(report.score)),
                Ok(Outcome::Remembered) => Ok(Found::Remembered),
                Ok(Outcome::Removed(count)) => Ok(Found::Removed(count)),
                Ok(other) => panic!("{other:?} for {asked:?}"),
                Err(error) => Err(error),
            };
            let expected = match ended {
                Some(Ended::Aborted) => Err(Error::aborted()),
                Some(Ended::OverBudget) => {
                    let Asked::Call(call) = &asked else { panic!("{asked:?} has a budget") };
                    let trace = call.input().trace;
                    Ok(Found::Scored(Score::of(&trace, Novelty::OverBudget, &Profiles::default())))
                }
                None if is_closed && found == Err(Error::closed()) => {
                    is_over = true;
                    continue;
                }
                None => {
                    assert!(!is_over, "{asked:?} was settled after one that was closed");
                    let expected = self.settle(&asked);
                    self.failed += u64::from(expected.is_err());
                    expected
                }
            };
            assert_eq!(found, expected, "{asked:?}");
        }
        assert!(answers.is_empty(), "{answers:?} were not asked for");
        let entries = self.scorer.own_memory().expect("its own memory").with_cache(|cache, now| {
            let entries = cache.entries(now);
            entries.map(|entry| (entry.vector.to_vec(), entry.id)).collect::<Vec<_>>()
        });
        let expected = self.cache.entries(Duration::ZERO);
        let expected = expected.map(|entry| (entry.vector.to_vec(), entry.id));
        assert!(expected.eq(entries), "the caches differ");
    }

    /// One call, with nothing beside it.
    fn settle(&mut self, asked: &Asked) -> Expected {
        let now = Duration::ZERO;
        let call = match asked {
            Asked::Call(call) => call,
            Asked::Clear => {
                let removed = self.cache.entries(now).len();
                self.cache.clear();
                return Ok(Found::Removed(removed));
            }
            Asked::Forget(id) => return Ok(Found::Removed(self.cache.remove(&name(*id), now))),
        };
        let work = call.work();
        let (Work::Score(Input { trace, .. })
        | Work::Peek(Input { trace, .. })
        | Work::Decide(Input { trace, .. }, _)
        | Work::Remember(Input { trace, .. })) = &work
        else {
            panic!("{work:?} has no trace")
        };
        let vector = call.number().map(FakeEmbedder::vector);
        let is_remembered = matches!(work, Work::Remember(_));
        let novelty = match &vector {
            None if self.embedder.is_required || is_remembered => {
                return Err(Error::embedder_unavailable(FAILURE));
            }
            None => Novelty::NoEmbedder { reason: FAILURE.into() },
            Some(vector) => {
                self.cache.nearest(vector, now).map_or(Novelty::EmptyCache, Novelty::Cache)
            }
        };
        let score = Score::of(trace, novelty, &Profiles::default());
        let is_added = match work {
            Work::Peek(_) => false,
            Work::Decide(_, threshold) => score.value >= threshold,
            _ => true,
        };
        if let Some(vector) = vector.filter(|_| is_added) {
            self.cache.add(&vector, trace.id().cloned(), now);
        }
        Ok(if is_remembered { Found::Remembered } else { Found::Scored(score) })
    }
}
