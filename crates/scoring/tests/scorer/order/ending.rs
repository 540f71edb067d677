//! Calls that are ended before their turn: aborted, out of their budget, or closed.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::*;
use crate::LIMIT;

/// Waits for the first text only: the other tests share the worker threads, and fill them, too.
fn wait_until_begun(embedder: &FakeEmbedder) {
    while embedder.calls() == 0 {
        thread::yield_now();
    }
}

#[test]
fn abort_answers_once_and_leaves_no_mark() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let (hanging, hung) = submit(&scorer, &embedder, Work::Score(says("hang")));
    let (_, next) = submit(&scorer, &embedder, Work::Score(says("5")));
    assert!(hanging.abort());
    assert!(!hanging.abort(), "once is enough");
    assert_eq!(code(receive(&hung)), "ABORTED");
    assert_eq!(novelty(receive(&next)), 0.5, "there is nothing before it");
    let (done, answer) = submit(&scorer, &embedder, Work::Score(says("5")));
    assert_eq!(novelty(receive(&answer)), 0.0);
    assert!(!done.abort(), "it has its answer");
    let statistics = scorer.statistics();
    assert_eq!((statistics.answered, statistics.aborted, statistics.pending()), (2, 1, 0));
}

#[test]
fn end_budget_answers_at_once_with_a_neutral_novelty() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    for score in [Work::Score, Work::Peek] {
        let (handle, answer) = submit(&scorer, &embedder, score(says("hang")));
        assert!(handle.end_budget());
        let report = report(answer.try_recv().expect("answered before end_budget returns"));
        assert_eq!(report.score.novelty, Novelty::OverBudget);
        assert_eq!((report.score.dimensions.novelty, report.text), (0.5, None));
        assert!(!handle.end_budget() && !handle.abort(), "it has its answer");
    }
    let statistics = scorer.statistics();
    assert_eq!((statistics.over_budget, statistics.answered, statistics.pending()), (2, 2, 0));
    assert_eq!((statistics.aborted, statistics.failed), (0, 0));
    assert!(statistics.percentile(1.0).is_some(), "its time counts");
}

#[test]
fn end_budget_counts_the_call_before_the_reply_runs() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let (sender, receiver) = mpsc::channel();
    let inside = scorer.clone();
    let reply = Box::new(move |_| {
        let statistics = inside.statistics();
        sender.send((statistics.over_budget, statistics.pending())).expect("a receiver");
    });
    let handle = scorer.submit(Work::Score(says("hang")), Ok(embedder), reply);
    assert!(handle.end_budget());
    assert_eq!(receive(&receiver), (1, 0));
}

#[test]
fn end_budget_is_without_effect_for_calls_that_do_not_score_and_after_an_answer() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let (blocking, _blocked) = submit(&scorer, &embedder, Work::Score(says("hang")));
    let (remember, remembered) = submit(&scorer, &embedder, Work::Remember(says("3")));
    let (warm_up, warm) = submit(&scorer, &embedder, Work::WarmUp);
    assert!(!remember.end_budget() && !warm_up.end_budget());
    assert!(blocking.abort());
    assert_eq!(receive(&remembered), Ok(Outcome::Remembered));
    assert_eq!(receive(&warm), Ok(Outcome::WarmedUp(Ok(()))));
    let (scored, answer) = submit(&scorer, &embedder, Work::Score(says("3")));
    assert_eq!(novelty(receive(&answer)), 0.0);
    assert!(!scored.end_budget(), "it has its answer");
    assert_eq!(scorer.statistics().over_budget, 0);
}

#[test]
fn close_answers_everything_with_closed_in_the_order_of_the_calls() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    // Some are being embedded, one may wait for the first, and the others are in the queue.
    let texts = ["hang", "1"].into_iter().chain(["hang"; 40]);
    let answers = submit_all(&scorer, &embedder, texts.map(|text| Work::Score(says(text))));
    wait_until_begun(&embedder);
    scorer.close();
    assert!(scorer.wait_until_idle(Instant::now() + LIMIT));
    let begun = embedder.calls();
    let (order, answers): (Vec<_>, Vec<_>) = answers.try_iter().unzip();
    assert!(order.into_iter().eq(0..42));
    assert!(answers.into_iter().map(code).all(|code| code == "CLOSED"));
    let statistics = scorer.statistics();
    assert_eq!((statistics.failed, statistics.pending()), (42, 0));
    assert_eq!(scorer.cache_len(), 0);

    let (late, answer) = submit(&scorer, &embedder, Work::Score(says("1")));
    assert_eq!(code(answer.try_recv().expect("answered at once")), "CLOSED");
    assert!(!late.abort() && !late.end_budget());
    assert_eq!(scorer.statistics().accepted, 42, "a refused call is not accepted");
    scorer.close();
    assert_eq!(embedder.calls(), begun, "nothing begins after closing");
}

#[test]
fn close_lets_go_of_calls_and_embedder() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let kept = Arc::new(());
    for _ in 0..8 {
        let kept = kept.clone();
        let reply = Box::new(move |_| drop(kept));
        scorer.submit(Work::Score(says("hang")), Ok(embedder.clone()), reply);
    }
    wait_until_begun(&embedder);
    scorer.close();
    // A thread drops its call just after it has left the list of those at work.
    let deadline = Instant::now() + Duration::from_secs(20);
    while Arc::strong_count(&embedder) > 1 && Instant::now() < deadline {
        thread::yield_now();
    }
    assert_eq!((Arc::strong_count(&kept), Arc::strong_count(&embedder)), (1, 1));
}

#[test]
fn close_does_not_wait_for_work_that_does_not_end() {
    let scorer = new_scorer();
    let (begin, begun) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let working = scorer.clone();
    let worker = thread::spawn(move || {
        working.during(|| {
            begin.send(()).expect("a receiver");
            let _ = ended.recv();
            Ok(())
        })
    });
    receive(&begun);
    scorer.close();
    assert!(!scorer.wait_until_idle(Instant::now()));
    drop(end);
    assert!(scorer.wait_until_idle(Instant::now() + LIMIT));
    worker.join().expect("no panic").expect("it began before the end");
}
