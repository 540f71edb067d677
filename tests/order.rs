//! Calls are scored in order, whatever the embedder does, and closing waits for it.

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
    dimensions::NoveltySource,
    embedder::{CancelToken, DIMENSIONS, Embed, EmbedError, Embedded, Embedding, Text},
    error::Error,
    score::Score,
    scorer::{CallHandle, Detail, Outcome, Scorer, ScorerOptions, Task, monotonic_clock},
    threads::pool_threads,
    trace::Trace,
};
use serde_json::json;

/// Does what the text tells: `7` is a vector of its own, slower for smaller numbers; `panic`,
/// `fail` and `hang` speak for themselves.
#[derive(Default)]
struct Told {
    required: bool,
    calls: AtomicUsize,
}

impl Embed for Told {
    fn embed(&self, text: &Text, cancel: &CancelToken) -> Result<Embedded, EmbedError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        match text.as_str().trim() {
            "panic" => panic!("as told"),
            "fail" => Err(EmbedError::Runtime("as told".into())),
            "hang" => {
                while !cancel.is_cancelled() {
                    thread::yield_now();
                }
                Err(EmbedError::Cancelled)
            }
            number => {
                let axis: usize = number.parse().expect("a number");
                thread::sleep(Duration::from_millis(8_u64.saturating_sub(axis as u64)));
                let mut embedding: Embedding = Box::new([0.0; DIMENSIONS]);
                embedding[axis] = 1.0;
                Ok(embedding.into())
            }
        }
    }

    fn is_required(&self) -> bool {
        self.required
    }
}

fn trace(text: &str) -> Trace {
    Trace::from_json(&json!({
        "metadata": { "task_domain": "d", "success": true },
        "task": { "objective": text },
        "steps": [],
        "outcome": { "confidence": 0 },
    }))
    .expect("a valid trace")
}

fn score_all(scorer: &Arc<Scorer>, embedder: &Arc<Told>, texts: &[&str]) -> Vec<Scored> {
    let (sender, receiver) = mpsc::channel();
    for (index, text) in texts.iter().enumerate() {
        let sender = sender.clone();
        let reply = Box::new(move |result| {
            let score = |outcome| match outcome {
                Outcome::Scored(account) => account.score,
                other => panic!("not a score: {other:?}"),
            };
            sender.send((index, Result::map(result, score))).unwrap();
        });
        scorer.submit(Task::Score(Detail::Account), trace(text), embedder.clone(), reply).unwrap();
    }
    drop(sender);
    receiver.iter().collect()
}

type Scored = (usize, Result<Score, Error>);

fn novelties(outcomes: &[Scored]) -> Vec<f64> {
    outcomes.iter().map(|(_, result)| result.as_ref().unwrap().dimensions.novelty).collect()
}

#[test]
fn a_slow_call_holds_its_place() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let texts = ["0", "7", "6", "0", "7", "1", "6", "1"];
    for _ in 0..20 {
        scorer.cache().lock().unwrap().clear();
        let outcomes = score_all(&scorer, &Arc::default(), &texts);
        let order: Vec<_> = outcomes.iter().map(|(index, _)| *index).collect();
        assert_eq!(order, (0..texts.len()).collect::<Vec<_>>());
        assert_eq!(novelties(&outcomes), [0.5, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    }
}

#[test]
fn a_failing_call_takes_nothing_with_it() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let outcomes = score_all(&scorer, &Arc::default(), &["1", "panic", "fail", "1", "2"]);
    let [first, panic, fail, repeated, new] = &outcomes[..] else { panic!("{outcomes:?}") };
    let novelty = |outcome: &Scored| outcome.1.as_ref().unwrap().dimensions.novelty;
    assert_eq!(panic.1.as_ref().unwrap_err().code(), "INTERNAL");
    assert_eq!(
        [novelty(first), novelty(fail), novelty(repeated), novelty(new)],
        [0.5, 0.5, 0.0, 1.0]
    );
    let size = scorer.cache().lock().unwrap().len(monotonic_clock());
    assert_eq!(size, 3, "what has no embedding does not enter the cache");
}

#[test]
fn a_required_embedder_that_fails_is_an_error() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let embedder = Arc::new(Told { required: true, ..Told::default() });
    let outcomes = score_all(&scorer, &embedder, &["1", "fail", "1"]);
    let error = outcomes[1].1.as_ref().unwrap_err();
    assert_eq!(error.code(), "EMBEDDER_UNAVAILABLE");
    assert!(error.to_string().ends_with("ONNX Runtime: as told"), "{error}");
    assert_eq!(outcomes[2].1.as_ref().unwrap().dimensions.novelty, 0.0);
}

#[test]
fn closing_ends_what_runs_and_drops_what_waits() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let embedder = Arc::<Told>::default();
    let (sender, receiver) = mpsc::channel::<()>();
    for _ in 0..50 {
        let sender = sender.clone();
        let reply = Box::new(move |_| sender.send(()).unwrap());
        scorer.submit(Task::Score(Detail::Value), trace("hang"), embedder.clone(), reply).unwrap();
    }
    while embedder.calls.load(Ordering::SeqCst) == 0 {
        thread::yield_now();
    }
    scorer.close();
    let begun = embedder.calls.load(Ordering::SeqCst);
    drop(sender);
    assert!(receiver.recv().is_err(), "no call is answered after closing");
    assert_eq!(embedder.calls.load(Ordering::SeqCst), begun, "nothing begins after closing");
    let refused = scorer.submit(Task::Score(Detail::Value), trace("1"), embedder, Box::new(|_| {}));
    assert_eq!(refused.err().unwrap().code(), "CLOSED");
}

#[test]
fn closing_lets_go_of_what_ends_meanwhile() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let embedder = Arc::<Told>::default();
    let kept = Arc::new(());
    for _ in 0..pool_threads() {
        let kept = kept.clone();
        let reply = Box::new(move |_| drop(kept));
        scorer.submit(Task::Score(Detail::Value), trace("hang"), embedder.clone(), reply).unwrap();
    }
    while embedder.calls.load(Ordering::SeqCst) < pool_threads() {
        thread::yield_now();
    }
    scorer.close();
    // A thread lets go of its call just after it has told that it is done with it.
    let deadline = Instant::now() + Duration::from_secs(20);
    while Arc::strong_count(&kept) > 1 && Instant::now() < deadline {
        thread::yield_now();
    }
    assert_eq!(Arc::strong_count(&kept), 1, "replies are held, with their traces and the embedder");
    assert_eq!(Arc::strong_count(&embedder), 1);
    drop(scorer);
}

#[test]
fn a_reply_that_panics_hurts_only_itself() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let embedder = Arc::<Told>::default();
    let reply = Box::new(|_| panic!("in the reply"));
    scorer.submit(Task::Score(Detail::Account), trace("1"), embedder.clone(), reply).unwrap();
    assert_eq!(novelties(&score_all(&scorer, &embedder, &["1"])), [0.0]);
}

/// A single thought, whose score is always 0.1.
fn thought(text: &str) -> Trace {
    let json = json!({
        "metadata": { "task_domain": "d", "success": true },
        "task": { "objective": text },
        "steps": [{ "type": "thought" }],
        "outcome": { "confidence": 0 },
    });
    Trace::from_json(&json).expect("a valid trace")
}

#[test]
fn a_score_that_no_novelty_can_change_does_not_wait() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let embedder = Arc::<Told>::default();
    let (sender, receiver) = mpsc::channel();
    let submit = |name: &'static str, trace, detail| {
        let sender = sender.clone();
        let reply = Box::new(move |result| sender.send((name, result)).unwrap());
        scorer.submit(Task::Score(detail), trace, embedder.clone(), reply).unwrap();
    };
    submit("slow", trace("0"), Detail::Value);
    submit("value", thought("7"), Detail::Value);
    submit("account", thought("7"), Detail::Account);
    let (first, result) = receiver.recv().unwrap();
    assert_eq!((first, result), ("value", Ok(Outcome::Value(0.1))));
    assert_eq!(receiver.recv().unwrap().0, "slow");
    let (_, account) = receiver.recv().unwrap();
    let Ok(Outcome::Scored(account)) = account else { panic!("{account:?}") };
    assert_eq!(
        (account.score.value, account.score.dimensions.novelty),
        (0.1, 0.0),
        "the value is in the cache"
    );
    assert_eq!(scorer.cache().lock().unwrap().len(monotonic_clock()), 3);
}

#[test]
fn clearing_the_cache_also_clears_what_is_answered_and_on_its_way() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let embedder = Arc::<Told>::default();
    let (sender, receiver) = mpsc::channel();
    let submit = |trace, detail| {
        let sender = sender.clone();
        let reply = Box::new(move |result| sender.send(result).unwrap());
        scorer.submit(Task::Score(detail), trace, embedder.clone(), reply).unwrap();
    };
    submit(thought("0"), Detail::Value);
    assert_eq!(receiver.recv().unwrap(), Ok(Outcome::Value(0.1)));
    scorer.clear_cache();
    submit(thought("0"), Detail::Account);
    let Ok(Outcome::Scored(account)) = receiver.recv().unwrap() else { panic!("no account") };
    assert_eq!(account.score.dimensions.novelty, 0.5, "nothing to compare with");
    assert_eq!(scorer.cache().lock().unwrap().len(monotonic_clock()), 1);
}

#[test]
fn a_required_embedder_is_waited_for() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let embedder = Arc::new(Told { required: true, ..Told::default() });
    let (sender, receiver) = mpsc::channel();
    let reply = Box::new(move |result| sender.send(result).unwrap());
    scorer.submit(Task::Score(Detail::Value), thought("fail"), embedder, reply).unwrap();
    assert_eq!(receiver.recv().unwrap().unwrap_err().code(), "EMBEDDER_UNAVAILABLE");
}

fn submit(
    scorer: &Arc<Scorer>,
    task: Task,
    text: &str,
) -> (CallHandle, mpsc::Receiver<Result<Outcome, Error>>) {
    let (sender, receiver) = mpsc::channel();
    let reply = Box::new(move |result| sender.send(result).unwrap());
    let handle = scorer.submit(task, trace(text), Arc::<Told>::default(), reply);
    (handle.unwrap(), receiver)
}

fn novelty(result: Result<Outcome, Error>) -> f64 {
    let Ok(Outcome::Scored(account)) = result else { panic!("{result:?}") };
    account.score.dimensions.novelty
}

#[test]
fn an_aborted_call_is_told_so_and_leaves_no_mark() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let score = Task::Score(Detail::Account);
    let (hanging, hung) = submit(&scorer, score, "hang");
    let (_, next) = submit(&scorer, score, "5");
    assert!(hanging.abort());
    assert!(!hanging.abort(), "once is enough");
    assert_eq!(hung.recv().unwrap().unwrap_err().code(), "ABORTED");
    assert_eq!(novelty(next.recv().unwrap()), 0.5, "there is nothing before it");
    let (done, answer) = submit(&scorer, score, "5");
    assert_eq!(novelty(answer.recv().unwrap()), 0.0);
    assert!(!done.abort(), "it has its answer");
    let statistics = scorer.statistics();
    assert_eq!((statistics.answered, statistics.aborted, statistics.pending()), (2, 1, 0));
}

#[test]
fn a_peek_leaves_no_mark_and_remembering_does() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let peek = || novelty(submit(&scorer, Task::Peek(Detail::Account), "7").1.recv().unwrap());
    assert_eq!([peek(), peek()], [0.5, 0.5]);
    let (_, remembered) = submit(&scorer, Task::Remember, "7");
    assert_eq!(remembered.recv().unwrap(), Ok(Outcome::Remembered));
    assert_eq!(peek(), 0.0);
}

#[test]
fn a_budget_ends_the_waiting_of_scores() {
    let options = ScorerOptions { budget: Some(Duration::ZERO), ..ScorerOptions::default() };
    let scorer = Scorer::new(monotonic_clock, options).unwrap();
    let (_, remembered) = submit(&scorer, Task::Remember, "1");
    assert_eq!(remembered.recv().unwrap(), Ok(Outcome::Remembered));
    let (_, early) = submit(&scorer, Task::Score(Detail::Account), "hang");
    let Ok(Outcome::Scored(account)) = early.recv().unwrap() else { panic!("no score") };
    assert_eq!(*account.score.novelty.source(), NoveltySource::OverBudget);
    scorer.end();
}

#[test]
fn one_thread_embeds_one_text_at_a_time_in_the_same_order() {
    let options = ScorerOptions { threads: 1, ..ScorerOptions::default() };
    let scorer = Scorer::new(monotonic_clock, options).unwrap();
    let outcomes = score_all(&scorer, &Arc::default(), &["0", "7", "0", "7"]);
    assert_eq!(novelties(&outcomes), [0.5, 1.0, 0.0, 0.0]);
}

#[test]
fn ending_answers_what_waits() {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).unwrap();
    let calls: Vec<_> =
        (0..10).map(|_| submit(&scorer, Task::Score(Detail::Value), "hang")).collect();
    scorer.end();
    for (_, answer) in calls {
        assert_eq!(answer.recv().unwrap().unwrap_err().code(), "CLOSED");
    }
    assert_eq!(scorer.statistics().pending(), 0);
}
