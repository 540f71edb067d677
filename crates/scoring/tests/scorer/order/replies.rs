//! Replies run while no lock is held, so they may use the scorer.

use std::{sync::OnceLock, time::Duration};

use super::*;
use crate::LIMIT;

/// How a call comes to its answer.
#[derive(Debug, Clone, Copy)]
enum End {
    Settled,
    Aborted,
    OverBudget,
    Closed,
    Refused,
}

/// Uses everything of the scorer inside a reply; returns the answer to a call that was made there.
fn use_scorer_in_reply(end: End) -> Answer {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    if matches!(end, End::Refused) {
        scorer.close();
    }
    let text = if matches!(end, End::Settled) { "1" } else { "hang" };
    let (sender, receiver) = mpsc::channel();
    let own_handle: Arc<OnceLock<CallHandle>> = Arc::default();
    let (inside, its_embedder, its_handle) = (scorer.clone(), embedder.clone(), own_handle.clone());
    let reply = Box::new(move |_| {
        assert!(inside.statistics().accepted <= 1);
        assert!(inside.cache_len() <= 1);
        inside.own_memory().expect("its own memory").with_cache(|cache, _| cache.clear());
        assert!(its_handle.get().is_none_or(|handle| !handle.abort() && !handle.end_budget()));
        let again = Box::new(move |answer| sender.send(answer).expect("a receiver"));
        inside.submit(work(Work::Score, "1"), Ok(its_embedder), again);
    });
    let handle = scorer.submit(work(Work::Score, text), Ok(embedder), reply);
    let _ = own_handle.set(handle.clone());
    match end {
        End::Settled | End::Refused => {}
        End::Aborted => assert!(handle.abort()),
        End::OverBudget => assert!(handle.end_budget()),
        End::Closed => scorer.close(),
    }
    receiver.recv_timeout(LIMIT).unwrap_or_else(|error| panic!("{end:?}: {error}"))
}

#[test]
fn reply_may_use_the_scorer_however_the_call_ended() {
    for end in [End::Settled, End::Aborted, End::OverBudget] {
        assert_eq!(novelty(use_scorer_in_reply(end)), 0.5, "{end:?}");
    }
    for end in [End::Closed, End::Refused] {
        assert_eq!(code(use_scorer_in_reply(end)), "CLOSED", "{end:?}");
    }
}

#[test]
fn reply_may_abort_the_call_after_it() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let (sender, handles) = mpsc::channel::<CallHandle>();
    let reply = Box::new(move |_| assert!(receive(&handles).abort()));
    scorer.submit(work(Work::Score, "slow 1"), Ok(embedder.clone()), reply);
    let (handle, answer) = submit(&scorer, &embedder, work(Work::Score, "1"));
    sender.send(handle).expect("the first call waits for it");
    assert_eq!(code(receive(&answer)), "ABORTED");
    assert_eq!(scorer.cache_len(), 1);
}

#[test]
fn reply_that_panics_hurts_no_other_call() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let reply = Box::new(|_| panic!("in the reply"));
    scorer.submit(work(Work::Score, "1"), Ok(embedder.clone()), reply);
    let [(_, answer)] = &score_all(&scorer, &embedder, &["1"])[..] else { panic!("one answer") };
    assert_eq!(novelty(answer.clone()), 0.0);
}

#[test]
fn close_answers_the_calls_after_a_reply_that_panics() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let reply = Box::new(|_| panic!("in the reply"));
    scorer.submit(work(Work::Score, "hang"), Ok(embedder.clone()), reply);
    let (_, answer) = submit(&scorer, &embedder, work(Work::Score, "hang"));
    scorer.close();
    assert_eq!(code(answer.try_recv().expect("an answer")), "CLOSED");
}

#[test]
fn submit_answers_at_once_without_embedding_but_after_the_calls_before() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let absent = || {
        let (sender, receiver) = mpsc::channel();
        let reply = Box::new(move |answer| sender.send(answer).expect("a receiver"));
        scorer.submit(work(Work::Score, "1"), Err(FAILURE.into()), reply);
        receiver
    };
    report(absent().try_recv().expect("an answer"));
    let (hanging, aborted) = submit(&scorer, &embedder, work(Work::Score, "hang"));
    let later = absent();
    later.recv_timeout(Duration::from_millis(20)).expect_err("no answer yet");
    assert!(hanging.abort());
    report(receive(&later));
    assert_eq!(code(aborted.try_recv().expect("an answer")), "ABORTED");
}
