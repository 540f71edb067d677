//! Calls that are answered before their turn are few enough to be held in memory.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use knowledgepulse_scoring::{
    cache::CacheOptions,
    dimensions::NoveltySource,
    embedder::{CancelToken, DIMENSIONS, Embed, EmbedError, Embedded, Embedding, Text},
    error::Error,
    scorer::{Detail, MOST_EARLY, Outcome, Scorer, ScorerOptions, Task, monotonic_clock},
    trace::Trace,
};
use serde_json::json;

/// Embeds nothing until it is opened.
#[derive(Default)]
struct Gate(AtomicBool);

impl Embed for Gate {
    fn embed(&self, _: &Text, _: &CancelToken) -> Result<Embedded, EmbedError> {
        while !self.0.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let mut embedding: Embedding = Box::new([0.0; DIMENSIONS]);
        embedding[0] = 1.0;
        Ok(embedding.into())
    }

    fn is_required(&self) -> bool {
        false
    }
}

struct Crowd {
    scorer: Arc<Scorer>,
    gate: Arc<Gate>,
}

impl Crowd {
    fn new(budget: Option<Duration>) -> Self {
        let cache = CacheOptions { max_elements: 2 * MOST_EARLY, ..CacheOptions::default() };
        let options = ScorerOptions { budget, cache, ..ScorerOptions::default() };
        Self { scorer: Scorer::new(monotonic_clock, options).unwrap(), gate: Arc::default() }
    }

    fn submit(&self, task: Task, kind: &str) -> mpsc::Receiver<Result<Outcome, Error>> {
        let trace = Trace::from_json(&json!({
            "metadata": { "task_domain": "d", "success": true },
            "task": { "objective": "" },
            "steps": [{ "type": kind }],
            "outcome": { "confidence": 0 },
        }));
        let (sender, receiver) = mpsc::channel();
        let reply = Box::new(move |result| sender.send(result).unwrap());
        self.scorer.submit(task, trace.unwrap(), self.gate.clone(), reply).unwrap();
        receiver
    }

    fn open(&self) {
        self.gate.0.store(true, Ordering::SeqCst);
    }

    fn size_of_cache(&self) -> usize {
        self.scorer.cache().lock().unwrap().len(monotonic_clock())
    }
}

const VALUE: Task = Task::Score(Detail::Value);

#[test]
fn of_scores_that_need_no_novelty_those_beyond_wait_for_their_turn() {
    let crowd = Crowd::new(None);
    for _ in 0..MOST_EARLY {
        let answer = crowd.submit(VALUE, "thought").recv().unwrap();
        assert_eq!(answer, Ok(Outcome::Value(0.1)));
    }
    let late = crowd.submit(VALUE, "thought");
    assert!(late.try_recv().is_err(), "it is held by its caller");
    assert_eq!(crowd.scorer.statistics().pending(), 1);
    crowd.open();
    let Ok(Outcome::Scored(account)) = late.recv().unwrap() else { panic!("no score") };
    assert_eq!((account.score.value, crowd.size_of_cache()), (0.1, MOST_EARLY + 1));
    let answer = crowd.submit(VALUE, "thought").recv().unwrap();
    assert_eq!(answer, Ok(Outcome::Value(0.1)), "there is room again");
}

#[test]
fn of_calls_over_budget_those_beyond_leave_no_mark() {
    let crowd = Crowd::new(Some(Duration::ZERO));
    let source = || {
        let answer = crowd.submit(VALUE, "observation").recv().unwrap();
        let Ok(Outcome::Scored(account)) = answer else { panic!("{answer:?}") };
        account.score.novelty.source().clone()
    };
    for _ in 0..MOST_EARLY + 50 {
        assert_eq!(source(), NoveltySource::OverBudget);
    }
    let remembered = crowd.submit(Task::Remember, "observation");
    crowd.open();
    assert_eq!(remembered.recv().unwrap(), Ok(Outcome::Remembered), "it is waited for");
    assert_eq!(crowd.size_of_cache(), MOST_EARLY + 1);
    let all = MOST_EARLY as u64 + 50;
    // Counted after the answer.
    while crowd.scorer.statistics().over_budget < all {
        thread::yield_now();
    }
    assert_eq!(crowd.scorer.statistics().pending(), 0);
}
