//! Calls, deadlines, aborts, looks into the cache and the end, all at once: every call that was
//! accepted gets one answer, and no thread sees what another one is changing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use knowledgepulse_scoring::{
    embedder::{CancelToken, DIMENSIONS, Embed, EmbedError, Embedded, Embedding, Text},
    scorer::{CallHandle, Detail, Scorer, ScorerOptions, Task, monotonic_clock},
    trace::Trace,
};
use serde_json::json;

/// Miri is a thousand times as slow.
const CALLERS: usize = if cfg!(miri) { 2 } else { 4 };
const CALLS: usize = if cfg!(miri) { 3 } else { 40 };
const ROUNDS: u64 = if cfg!(miri) { 2 } else { 25 };

/// One of few vectors, after no time, or as long as others need for a little.
struct Lengths;

impl Embed for Lengths {
    fn embed(&self, text: &Text, _: &CancelToken) -> Result<Embedded, EmbedError> {
        let length = text.as_str().len();
        if length.is_multiple_of(3) {
            thread::yield_now();
        }
        let mut embedding: Embedding = Box::new([0.0; DIMENSIONS]);
        embedding[length % 8] = 1.0;
        Ok(embedding.into())
    }

    fn is_required(&self) -> bool {
        false
    }
}

fn trace(call: usize) -> Trace {
    Trace::from_json(&json!({
        "id": (call % 5).to_string(),
        "metadata": { "task_domain": "d", "success": true },
        "task": { "objective": "x".repeat(call % 11) },
        "steps": [],
        "outcome": { "confidence": 0 },
    }))
    .expect("a valid trace")
}

/// Submits calls of every kind; counts the answers of those that are accepted.
fn call_often(scorer: &Arc<Scorer>, handles: &mpsc::Sender<CallHandle>) -> Vec<Arc<AtomicUsize>> {
    let submit = |call: usize| {
        let answers = Arc::new(AtomicUsize::new(0));
        let counted = answers.clone();
        let reply = Box::new(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let task = match call % 4 {
            0 => Task::Remember,
            1 => Task::Peek(Detail::Value),
            2 => Task::Score(Detail::Value),
            _ => Task::Score(Detail::Account),
        };
        let handle = scorer.submit(task, trace(call), Arc::new(Lengths), reply).ok()?;
        handles.send(handle).expect("somebody takes it");
        Some(answers)
    };
    (0..CALLS).filter_map(submit).collect()
}

/// What other users of a scorer may do meanwhile.
fn disturb(scorer: &Scorer, call: usize) {
    match call % 6 {
        0 => scorer.clear_cache(),
        1 => drop(scorer.forget("3")),
        2 => assert!(scorer.statistics().pending() <= (CALLERS * CALLS) as u64),
        _ => drop(scorer.cache().lock().expect("no panic").len(scorer.now())),
    }
}

/// Waits for the answers that are still on their way on another thread.
fn settles(condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        if Instant::now() > deadline {
            return false;
        }
        thread::yield_now();
    }
    true
}

fn every_call_has_one_answer(budget: Option<Duration>, is_ended: bool) {
    let options = ScorerOptions { threads: 2, budget, ..ScorerOptions::default() };
    let scorer = Scorer::new(monotonic_clock, options).expect("a scorer");
    let (sender, handles) = mpsc::channel();
    let calls: Vec<_> = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (scorer, sender) = (&scorer, sender.clone());
                scope.spawn(move || call_often(scorer, &sender))
            })
            .collect();
        drop(sender);
        for (index, handle) in handles.iter().enumerate() {
            disturb(&scorer, index);
            if index % 3 == 0 && handle.abort() {
                assert!(!handle.abort(), "aborted once");
            }
            if is_ended && index == CALLERS * CALLS / 2 {
                scorer.end();
            }
        }
        callers.into_iter().flat_map(|caller| caller.join().expect("no panic")).collect()
    });
    let answered = |answers: &Arc<AtomicUsize>| answers.load(Ordering::SeqCst);
    assert!(settles(|| calls.iter().all(|answers| answered(answers) > 0)), "all are answered");
    assert!(settles(|| scorer.statistics().pending() == 0), "{:?}", scorer.statistics());
    scorer.close();
    assert!(calls.iter().all(|answers| answered(answers) == 1), "none is answered twice");
    let statistics = scorer.statistics();
    let counted = statistics.answered + statistics.failed + statistics.aborted;
    assert_eq!((statistics.accepted, counted), (calls.len() as u64, calls.len() as u64));
}

#[test]
fn of_a_call_that_is_answered_aborted_or_late() {
    for round in 0..ROUNDS {
        let budget = (round % 2 == 1).then(|| Duration::from_micros(50 * round));
        every_call_has_one_answer(budget, false);
    }
}

#[test]
fn of_a_call_that_the_end_overtakes() {
    for round in 0..ROUNDS {
        let budget = (round % 2 == 1).then(|| Duration::from_micros(50 * round));
        every_call_has_one_answer(budget, true);
    }
}
