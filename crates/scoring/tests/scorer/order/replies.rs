//! Replies run while no lock is held, so they may use the scorer.

use std::{sync::OnceLock, time::Duration};

use super::*;

/// Ends a call.
type End = fn(&Scorer, &CallHandle) -> bool;

/// Uses everything of the scorer inside a reply; returns the answer to a call that was made there.
fn use_scorer_in_reply(scorer: &Arc<Scorer>, text: &str, end: End) -> Answer {
    let (sender, receiver) = mpsc::channel();
    let embedder = FakeEmbedder::new();
    let own_handle: Arc<OnceLock<CallHandle>> = Arc::default();
    let (inside, its_embedder, its_handle) = (scorer.clone(), embedder.clone(), own_handle.clone());
    let reply = Box::new(move |_| {
        assert!(inside.statistics().accepted <= 1);
        assert!(inside.cache_len() <= 1);
        inside.own_memory().expect("its own memory").with_cache(|cache, _| cache.clear());
        assert!(its_handle.get().is_none_or(|handle| !handle.abort() && !handle.end_budget()));
        let (_, again) = submit(&inside, &its_embedder, Work::Score(says("1")));
        sender.send(again).expect("a receiver");
    });
    let handle = scorer.submit(Work::Score(says(text)), Ok(embedder), reply);
    let _ = own_handle.set(handle.clone());
    assert!(end(scorer, &handle));
    receive(&receive(&receiver))
}

#[test]
fn reply_may_use_the_scorer_however_the_call_ended() {
    let ends: [(&str, End); 3] = [
        ("1", |_, _| true),
        ("hang", |_, call| call.abort()),
        ("hang", |_, call| call.end_budget()),
    ];
    for (text, end) in ends {
        assert_eq!(novelty(use_scorer_in_reply(&new_scorer(), text, end)), 0.5);
    }
    let scorer = new_scorer();
    let close: End = |scorer, _| {
        scorer.close();
        true
    };
    for end in [close, |_, _| true] {
        assert_eq!(code(use_scorer_in_reply(&scorer, "hang", end)), "CLOSED");
    }
}

#[test]
fn reply_may_abort_the_call_after_it() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let (sender, handles) = mpsc::channel::<CallHandle>();
    let reply = Box::new(move |_| assert!(receive(&handles).abort()));
    scorer.submit(Work::Score(says("slow 1")), Ok(embedder.clone()), reply);
    let (handle, answer) = submit(&scorer, &embedder, Work::Score(says("1")));
    sender.send(handle).expect("the first call waits for it");
    assert_eq!(code(receive(&answer)), "ABORTED");
    assert_eq!(scorer.cache_len(), 1);
}

#[test]
fn reply_that_panics_hurts_no_other_call() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let reply = Box::new(|_| panic!("in the reply"));
    scorer.submit(Work::Score(says("1")), Ok(embedder.clone()), reply);
    assert_eq!(score_all(&scorer, &embedder, ["1"]).map(novelty), [0.0]);
}

#[test]
fn close_answers_the_calls_after_a_reply_that_panics() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let reply = Box::new(|_| panic!("in the reply"));
    scorer.submit(Work::Score(says("hang")), Ok(embedder.clone()), reply);
    let (_, answer) = submit(&scorer, &embedder, Work::Score(says("hang")));
    scorer.close();
    assert_eq!(code(answer.try_recv().expect("an answer")), "CLOSED");
}

#[test]
fn submit_answers_at_once_without_embedding_but_after_the_calls_before() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let absent = || {
        let (sender, receiver) = mpsc::channel();
        let reply = Box::new(move |answer| sender.send(answer).expect("a receiver"));
        scorer.submit(Work::Score(says("1")), Err(Error::embedder_unavailable(FAILURE)), reply);
        receiver
    };
    report(absent().try_recv().expect("an answer"));
    let (hanging, aborted) = submit(&scorer, &embedder, Work::Score(says("hang")));
    let later = absent();
    later.recv_timeout(Duration::from_millis(20)).expect_err("no answer yet");
    assert!(hanging.abort());
    report(receive(&later));
    assert_eq!(code(aborted.try_recv().expect("an answer")), "ABORTED");
}
