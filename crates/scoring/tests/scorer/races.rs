//! Calls, ends of budgets, aborts, looks into the cache and the end of the scorer, all at once: every
//! call gets one answer.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use knowledgepulse_scoring::{
    Scorer,
    scorer::{CallHandle, ScorerOptions, Work},
};
use knowledgepulse_test_support::{FakeEmbedder, input, trace};
use serde_json::json;

use crate::receive;

/// Miri is a thousand times as slow.
const CALLERS: usize = if cfg!(miri) { 2 } else { 4 };
const CALLS: usize = if cfg!(miri) { 3 } else { 40 };
const ROUNDS: u64 = if cfg!(miri) { 2 } else { 25 };

/// How often a call was answered.
type Answers = Arc<AtomicUsize>;

fn work(call: usize) -> Work {
    let text =
        if call.is_multiple_of(13) { format!("slow {call}") } else { (call % 8).to_string() };
    let id = (call % 5).to_string();
    let input = input(&trace(json!({ "id": id, "task": { "objective": text } })));
    match call % 5 {
        0 => Work::Remember(input),
        1 => Work::Peek(input),
        2 => Work::WarmUp,
        3 => Work::Decide(input, 0.3),
        _ => Work::Score(input),
    }
}

/// Submits calls of every kind, and counts their answers.
fn submit_calls(scorer: &Arc<Scorer>, handles: &mpsc::Sender<CallHandle>) -> Vec<Answers> {
    let embedder = FakeEmbedder::new();
    let submit = |call| {
        let answers = Answers::default();
        let counted = answers.clone();
        let reply = Box::new(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let handle = scorer.submit(work(call), Ok(embedder.clone()), reply);
        handles.send(handle).expect("a receiver");
        answers
    };
    (0..CALLS).map(submit).collect()
}

/// What other users of a scorer may do meanwhile.
fn disturb(scorer: &Scorer, handle: &CallHandle, index: usize) {
    match index % 7 {
        0 => scorer.own_memory().expect("its own memory").with_cache(|cache, _| cache.clear()),
        1 => drop(
            scorer
                .own_memory()
                .expect("its own memory")
                .with_cache(|cache, now| cache.remove("3", now)),
        ),
        2 => assert!(scorer.statistics().pending() <= (CALLERS * CALLS) as u64),
        3 if handle.abort() => assert!(!handle.abort() && !handle.end_budget(), "ended once"),
        4 | 5 if handle.end_budget() => {
            assert!(!handle.abort() && !handle.end_budget(), "ended once");
        }
        _ => assert!(scorer.cache_len() <= CALLERS * CALLS),
    }
}

/// Waits for what is still on its way on another thread.
fn comes_true(condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        if Instant::now() > deadline {
            return false;
        }
        thread::yield_now();
    }
    true
}

fn answer_every_call_once(is_closed: bool) {
    let options = ScorerOptions { concurrency: 2, ..ScorerOptions::default() };
    let scorer = Scorer::new(options).expect("a scorer");
    let (sender, handles) = mpsc::channel();
    let calls: Vec<_> = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (scorer, sender) = (&scorer, sender.clone());
                scope.spawn(move || submit_calls(scorer, &sender))
            })
            .collect();
        drop(sender);
        for (index, handle) in handles.iter().enumerate() {
            disturb(&scorer, &handle, index);
            if is_closed && index == CALLERS * CALLS / 2 {
                scorer.close();
            }
        }
        callers.into_iter().flat_map(|caller| caller.join().expect("no panic")).collect()
    });
    let answered = |answers: &Answers| answers.load(Ordering::SeqCst);
    assert!(comes_true(|| calls.iter().all(|answers| answered(answers) > 0)), "all are answered");
    scorer.close();
    assert!(calls.iter().all(|answers| answered(answers) == 1), "none is answered twice");
    let statistics = scorer.statistics();
    let counted = statistics.answered + statistics.failed + statistics.aborted;
    assert_eq!((statistics.accepted, statistics.pending()), (counted, 0));
    assert!(is_closed || statistics.accepted == calls.len() as u64, "{statistics:?}");
}

#[test]
fn submit_answers_every_call_once() {
    for _ in 0..ROUNDS {
        answer_every_call_once(false);
    }
}

#[test]
fn close_answers_every_call_once() {
    for _ in 0..ROUNDS {
        answer_every_call_once(true);
    }
}

#[test]
fn call_is_ended_by_one_of_abort_end_budget_and_close() {
    for _ in 0..ROUNDS * 4 {
        let scorer = Scorer::new(ScorerOptions::default()).expect("a scorer");
        let (sender, answers) = mpsc::channel();
        let reply = Box::new(move |answer| sender.send(answer).expect("a receiver"));
        let work = Work::Score(input(&trace(json!({ "task": { "objective": "hang" } }))));
        let handle = scorer.submit(work, Ok(FakeEmbedder::new()), reply);
        let start = Barrier::new(3);
        let (is_aborted, is_over_budget) = thread::scope(|scope| {
            let after_start = |end: fn(&CallHandle) -> bool| {
                let (handle, start) = (&handle, &start);
                scope.spawn(move || {
                    start.wait();
                    end(handle)
                })
            };
            let (abort, end_budget) =
                (after_start(CallHandle::abort), after_start(CallHandle::end_budget));
            start.wait();
            scorer.close();
            (abort.join().expect("no panic"), end_budget.join().expect("no panic"))
        });
        let answer = receive(&answers).map_err(|error| error.code());
        let expected = match (is_aborted, is_over_budget) {
            (true, false) => Some("ABORTED"),
            (false, true) => None,
            (false, false) => Some("CLOSED"),
            (true, true) => panic!("ended twice"),
        };
        assert_eq!(answer.err(), expected);
        assert!(answers.recv().is_err(), "answered twice");
    }
}
