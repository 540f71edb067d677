//! Calls are settled in order, whatever the embedder does and however they end.

mod ending;
mod replies;

use std::{
    array,
    sync::{Arc, mpsc},
};

use knowledgepulse_scoring::{
    Error, Novelty, Scorer,
    embed::TextFacts,
    scorer::{CallHandle, Outcome, Report, ScorerOptions, Work},
};
use knowledgepulse_test_support::{FakeEmbedder, embedder::FAILURE};

use crate::{Answer, receive, says, submit, submit_all};

fn new_scorer() -> Arc<Scorer> {
    Scorer::new(ScorerOptions::default())
}

/// Scores the texts at once, and returns the answers, which have to come in order.
fn score_all<const N: usize>(
    scorer: &Arc<Scorer>,
    embedder: &Arc<FakeEmbedder>,
    texts: [&str; N],
) -> [Answer; N] {
    let answers = submit_all(scorer, embedder, texts.map(|text| Work::Score(says(text))));
    array::from_fn(|expected| {
        let (number, answer) = receive(&answers);
        assert_eq!(number, expected, "in order");
        answer
    })
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
    let texts = ["slow 0", "7", "5", "0", "slow 7", "2", "5", "2"];
    for concurrency in [1, ScorerOptions::default().concurrency].repeat(20) {
        let options = ScorerOptions { concurrency, ..ScorerOptions::default() };
        let scorer = Scorer::new(options);
        let novelties = score_all(&scorer, &FakeEmbedder::new(), texts).map(novelty);
        assert_eq!(novelties, [0.5, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    }
}

#[test]
fn submit_needs_no_thread_while_an_embedder_is_loaded() {
    let unloaded = FakeEmbedder::unloaded();
    // More than there are threads.
    let waiting: Vec<_> = (0..100)
        .map(|_| {
            let scorer = new_scorer();
            let answers = submit_all(&scorer, &unloaded, ["3", "7"].map(says).map(Work::Score));
            (scorer, answers)
        })
        .collect();
    let [other] = score_all(&new_scorer(), &FakeEmbedder::new(), ["5"]).map(novelty);
    assert_eq!((other, unloaded.calls()), (0.5, 0));
    let (closed, answers) = &waiting[0];
    closed.close();
    assert_eq!(code(receive(answers).1), "CLOSED");
    unloaded.end_load();
    for (_, answers) in &waiting[1..] {
        let found =
            [(); 2].map(|()| receive(answers)).map(|(number, answer)| (number, novelty(answer)));
        assert_eq!(found, [(0, 0.5), (1, 1.0)]);
    }
}

#[test]
fn submit_reports_what_the_novelty_rests_on() {
    let scorer = new_scorer();
    let [first, second, failed] =
        score_all(&scorer, &FakeEmbedder::new(), ["3", "4", "fail"]).map(report);
    assert_eq!(first.score.novelty, Novelty::EmptyCache);
    let Novelty::Cache(nearest) = second.score.novelty else { panic!("{second:?}") };
    assert_eq!(nearest.id.as_deref(), Some("3"));
    assert!((nearest.similarity - 0.48).abs() < 1e-6, "{nearest:?}");
    assert_eq!(failed.score.novelty, Novelty::NoEmbedder(FAILURE.into()));

    assert_eq!(second.text, Some(TextFacts { tokens: 3, ..TextFacts::default() }));
    assert_eq!(failed.text, None);
    let times = second.times;
    assert_eq!((times.tokenize.as_millis(), times.infer.as_millis()), (1, 2));
    assert!(times.total >= times.queue + times.turn + times.cache, "{times:?}");
    assert!(failed.times.tokenize.is_zero() && failed.times.infer.is_zero());
}

#[test]
fn submit_isolates_calls_that_fail() {
    let scorer = new_scorer();
    let [first, panic, fail, repeated, new] =
        score_all(&scorer, &FakeEmbedder::new(), ["1", "panic", "fail", "1", "3"]);
    assert_eq!(code(panic), "INTERNAL");
    assert_eq!([first, fail, repeated, new].map(novelty), [0.5, 0.5, 0.0, 1.0]);
    assert_eq!(scorer.cache_len(), 3, "what has no embedding does not enter the cache");
    let statistics = scorer.statistics();
    assert_eq!((statistics.answered, statistics.failed, statistics.pending()), (4, 1, 0));
}

#[test]
fn cache_len_does_not_wait_while_the_cache_is_in_use() {
    let (scorer, embedder) = (new_scorer(), FakeEmbedder::new());
    let _answers = score_all(&scorer, &embedder, ["1", "3"]);
    assert_eq!(scorer.cache_len(), 2);
    let found = scorer.own_memory().expect("its own memory").with_cache(|cache, _| {
        cache.clear();
        let scorer = scorer.clone();
        std::thread::spawn(move || scorer.cache_len()).join().expect("no panic")
    });
    assert_eq!(found, 2, "the size before");
    assert_eq!(scorer.cache_len(), 0);
}
