//! Calls, ends of budgets, aborts, looks into the cache and the end of the scorer, all at once: every
//! call gets one answer.

use std::{
    sync::{Barrier, mpsc},
    thread,
};

use knowledgepulse_scoring::{
    Scorer,
    scorer::{CallHandle, Outcome, ScorerOptions, Work},
};
use knowledgepulse_test_support::FakeEmbedder;

use crate::{receive, says, submit};

/// Miri is a thousand times as slow.
const CALLERS: usize = if cfg!(miri) { 2 } else { 4 };
const CALLS: usize = if cfg!(miri) { 3 } else { 40 };
const ROUNDS: u64 = if cfg!(miri) { 2 } else { 25 };

fn work(call: usize) -> Work {
    let text =
        if call.is_multiple_of(13) { format!("slow {call}") } else { (call % 8).to_string() };
    let input = says(&text);
    match call % 5 {
        0 => Work::Remember(input),
        1 => Work::Peek(input),
        2 => Work::WarmUp,
        3 => Work::Decide(input, 0.3),
        _ => Work::Score(input),
    }
}

/// What other users of a scorer may do meanwhile.
fn disturb(scorer: &Scorer, handle: &CallHandle, index: usize) {
    let memory = scorer.own_memory().expect("its own memory");
    match index % 7 {
        0 => memory.with_cache(|cache, _| cache.clear()),
        1 => drop(memory.with_cache(|cache, now| cache.remove("3", now))),
        2 => assert!(scorer.statistics().pending() <= (CALLERS * CALLS) as u64),
        3 if handle.abort() => assert!(!handle.abort() && !handle.end_budget(), "ended once"),
        4 | 5 if handle.end_budget() => {
            assert!(!handle.abort() && !handle.end_budget(), "ended once");
        }
        _ => assert!(scorer.cache_len() <= CALLERS * CALLS),
    }
}

/// No call can be answered twice: a reply is gone when it has run.
fn answer_every_call(is_closed: bool) {
    let options = ScorerOptions { concurrency: 2, ..ScorerOptions::default() };
    let scorer = Scorer::new(options);
    let (sender, calls) = mpsc::channel();
    let mut answers = Vec::new();
    thread::scope(|scope| {
        for _ in 0..CALLERS {
            let (scorer, sender, embedder) = (&scorer, sender.clone(), FakeEmbedder::new());
            let submit_next = move |call| sender.send(submit(scorer, &embedder, work(call)));
            scope.spawn(move || (0..CALLS).try_for_each(submit_next).expect("a receiver"));
        }
        drop(sender);
        for (index, (handle, answer)) in calls.iter().enumerate() {
            disturb(&scorer, &handle, index);
            answers.push(answer);
            if is_closed && index == CALLERS * CALLS / 2 {
                scorer.close();
            }
        }
    });
    let is_warm = |answer: &_| matches!(receive(answer), Ok(Outcome::WarmedUp(_)));
    let warm = answers.iter().filter(|answer| is_warm(answer)).count();
    scorer.close();
    let statistics = scorer.statistics();
    let counted = statistics.answered + statistics.failed + statistics.aborted;
    assert_eq!((statistics.accepted, statistics.pending()), (counted, 0));
    let scored = (answers.len() - warm) as u64;
    assert!(is_closed || statistics.accepted == scored, "{statistics:?}");
}

#[test]
fn submit_answers_every_call_even_while_the_scorer_is_closed() {
    (0..2 * ROUNDS).for_each(|round| answer_every_call(round % 2 > 0));
}

#[test]
fn call_is_ended_by_one_of_abort_end_budget_and_close() {
    for _ in 0..ROUNDS * 4 {
        let scorer = Scorer::new(ScorerOptions::default());
        let (handle, answer) = submit(&scorer, &FakeEmbedder::new(), Work::Score(says("hang")));
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
        let answer = receive(&answer).map_err(|error| error.code());
        let expected = match (is_aborted, is_over_budget) {
            (true, false) => Some("ABORTED"),
            (false, true) => None,
            (false, false) => Some("CLOSED"),
            (true, true) => panic!("ended twice"),
        };
        assert_eq!(answer.err(), expected);
    }
}
