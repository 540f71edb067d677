//! Calls are settled in order, whatever the embedder does and however they end.

mod ending;
mod replies;

use std::sync::{Arc, mpsc};

use knowledgepulse_scoring::{
    Novelty, Scorer,
    embed::TextFacts,
    scorer::{CallHandle, Outcome, Report, ScorerOptions, Work},
};
use knowledgepulse_test_support::{FakeEmbedder, embedder::FAILURE, input, trace};
use serde_json::json;

use crate::{Answer, receive, submit};

fn new_scorer() -> Arc<Scorer> {
    Scorer::new(ScorerOptions::default()).expect("a scorer")
}

/// What a call with a trace of this text is to do.
fn work(work: fn(knowledgepulse_scoring::scorer::Input) -> Work, text: &str) -> Work {
    work(input(&trace(json!({ "id": text, "task": { "objective": text } }))))
}

/// Scores the texts at once, and returns the answers in the order in which they came.
fn score_all(
    scorer: &Arc<Scorer>,
    embedder: &Arc<FakeEmbedder>,
    texts: &[&str],
) -> Vec<(usize, Answer)> {
    let (sender, receiver) = mpsc::channel();
    for (index, text) in texts.iter().enumerate() {
        let sender = sender.clone();
        let reply = Box::new(move |answer| sender.send((index, answer)).expect("a receiver"));
        scorer.submit(work(Work::Score, text), Ok(embedder.clone()), reply);
    }
    texts.iter().map(|_| receive(&receiver)).collect()
}

#[track_caller]
fn report(answer: Answer) -> Report {
    match answer {
        Ok(Outcome::Scored(report)) => *report,
        other => panic!("not a score: {other:?}"),
    }
}

#[track_caller]
fn novelty(answer: Answer) -> f64 {
    report(answer).score.dimensions.novelty
}

#[track_caller]
fn code(answer: Answer) -> &'static str {
    answer.expect_err("an error").code()
}

#[test]
fn submit_settles_calls_in_order_however_long_they_take() {
    let scorer = new_scorer();
    let texts = ["slow 0", "7", "5", "0", "slow 7", "2", "5", "2"];
    for _ in 0..20 {
        scorer.own_memory().expect("its own memory").with_cache(|cache, _| cache.clear());
        let answers = score_all(&scorer, &FakeEmbedder::new(), &texts);
        let (order, answers): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
        assert_eq!(order, (0..texts.len()).collect::<Vec<_>>());
        let novelties: Vec<_> = answers.into_iter().map(novelty).collect();
        assert_eq!(novelties, [0.5, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    }
}

#[test]
fn submit_settles_calls_in_order_with_a_concurrency_of_1() {
    let options = ScorerOptions { concurrency: 1, ..ScorerOptions::default() };
    let scorer = Scorer::new(options).expect("a scorer");
    let answers = score_all(&scorer, &FakeEmbedder::new(), &["slow 0", "7", "0", "slow 7"]);
    let novelties: Vec<_> = answers.into_iter().map(|(_, answer)| novelty(answer)).collect();
    assert_eq!(novelties, [0.5, 1.0, 0.0, 0.0]);
}

#[test]
fn submit_reports_what_the_novelty_rests_on() {
    let scorer = new_scorer();
    let answers = score_all(&scorer, &FakeEmbedder::new(), &["3", "4", "fail"]);
    let [first, second, failed] =
        <[_; 3]>::try_from(answers).expect("three answers").map(|(_, answer)| report(answer));
    assert_eq!(first.score.novelty, Novelty::EmptyCache);
    let Novelty::Cache(nearest) = second.score.novelty else { panic!("{second:?}") };
    assert_eq!(nearest.id.as_deref(), Some("3"));
    assert!((nearest.similarity - 0.48).abs() < 1e-6, "{nearest:?}");
    assert_eq!(failed.score.novelty, Novelty::NoEmbedder { reason: FAILURE.into() });

    assert_eq!(second.text, Some(TextFacts { tokens: 3, windows: 1, ..TextFacts::default() }));
    assert_eq!(failed.text, None);
    let times = second.times;
    assert_eq!((times.tokenize.as_millis(), times.infer.as_millis()), (1, 2));
    assert!(times.total >= times.queue + times.turn + times.cache, "{times:?}");
    assert!(failed.times.tokenize.is_zero() && failed.times.infer.is_zero());
}

#[test]
fn submit_isolates_calls_that_fail() {
    let scorer = new_scorer();
    let answers = score_all(&scorer, &FakeEmbedder::new(), &["1", "panic", "fail", "1", "3"]);
    let [first, panic, fail, repeated, new] =
        <[_; 5]>::try_from(answers).expect("five answers").map(|(_, answer)| answer);
    assert_eq!(code(panic), "INTERNAL");
    assert_eq!([first, fail, repeated, new].map(novelty), [0.5, 0.5, 0.0, 1.0]);
    assert_eq!(scorer.cache_len(), 3, "what has no embedding does not enter the cache");
    let statistics = scorer.statistics();
    assert_eq!((statistics.answered, statistics.failed, statistics.pending()), (4, 1, 0));
}

#[test]
fn submit_fails_without_a_required_embedder() {
    let scorer = new_scorer();
    let answers = score_all(&scorer, &FakeEmbedder::required(), &["1", "fail", "1"]);
    let [_, failed, repeated] =
        <[_; 3]>::try_from(answers).expect("three answers").map(|(_, answer)| answer);
    let error = failed.expect_err("no embedding");
    assert_eq!(error.code(), "EMBEDDER_UNAVAILABLE");
    assert!(error.to_string().ends_with(FAILURE), "{error}");
    assert_eq!(novelty(repeated), 0.0);
}

#[test]
fn submit_peeks_without_a_mark_and_remembers_without_a_score() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let answer = |work| receive(&submit(&scorer, &embedder, work).1);
    let peek = || novelty(answer(work(Work::Peek, "7")));
    assert_eq!([peek(), peek()], [0.5, 0.5]);
    assert_eq!(answer(work(Work::Remember, "7")), Ok(Outcome::Remembered));
    assert_eq!(peek(), 0.0);
    assert_eq!(code(answer(work(Work::Remember, "fail"))), "EMBEDDER_UNAVAILABLE");
    assert_eq!(scorer.cache_len(), 1);
}

#[test]
fn submit_warms_up_after_the_calls_before() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let (_, scored) = submit(&scorer, &embedder, work(Work::Score, "slow 1"));
    let (_, warm) = submit(&scorer, &embedder, Work::WarmUp);
    assert_eq!(receive(&warm), Ok(Outcome::WarmedUp(Ok(()))));
    assert_eq!(novelty(scored.try_recv().expect("an answer before")), 0.5);
    assert_eq!(scorer.cache_len(), 1, "warming up leaves no mark");
}

#[test]
fn submit_forgets_and_clears_after_the_calls_before_and_ahead_of_those_behind() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let submit = |work| submit(&scorer, &embedder, work).1;
    let named = |text: &str| input(&trace(json!({ "id": "x", "task": { "objective": text } })));
    let answers = [
        submit(Work::Score(named("slow 1"))),
        submit(Work::Forget("x".into())),
        submit(Work::Score(named("slow 1"))),
        submit(Work::Clear),
        submit(Work::Score(named("1"))),
    ];
    let [first, forgotten, second, cleared, third] = answers.map(|answer| receive(&answer));
    assert_eq!((forgotten, cleared), (Ok(Outcome::Removed(1)), Ok(Outcome::Removed(1))));
    for score in [first, second, third] {
        assert_eq!(report(score).score.novelty, Novelty::EmptyCache);
    }
    assert_eq!(scorer.cache_len(), 1);
}

#[test]
fn cache_len_does_not_wait_while_the_cache_is_in_use() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    score_all(&scorer, &embedder, &["1", "3"]);
    assert_eq!(scorer.cache_len(), 2);
    let found = scorer.own_memory().expect("its own memory").with_cache(|cache, _| {
        cache.clear();
        let scorer = scorer.clone();
        std::thread::spawn(move || scorer.cache_len()).join().expect("no panic")
    });
    assert_eq!(found, 2, "the size before");
    assert_eq!(scorer.cache_len(), 0);
}
