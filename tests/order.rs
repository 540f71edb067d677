//! Calls are scored in order, whatever the embedder does, and closing waits for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use knowledgepulse_scoring::{
    embedder::{CancelToken, DIMENSIONS, Embed, EmbedError, Embedding, TextWindow},
    error::Error,
    score::Score,
    scorer::{Detail, Outcome, Scorer, monotonic_clock},
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
    fn embed(&self, text: &TextWindow, cancel: &CancelToken) -> Result<Embedding, EmbedError> {
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
                Ok(embedding)
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
                Outcome::Scored(score) => score,
                other => panic!("not a score: {other:?}"),
            };
            sender.send((index, Result::map(result, score))).unwrap();
        });
        scorer.submit(trace(text), embedder.clone(), Detail::Account, reply).unwrap();
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
    let scorer = Scorer::new(monotonic_clock).unwrap();
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
    let scorer = Scorer::new(monotonic_clock).unwrap();
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
    let scorer = Scorer::new(monotonic_clock).unwrap();
    let embedder = Arc::new(Told { required: true, ..Told::default() });
    let outcomes = score_all(&scorer, &embedder, &["1", "fail", "1"]);
    let error = outcomes[1].1.as_ref().unwrap_err();
    assert_eq!(error.code(), "EMBEDDER_UNAVAILABLE");
    assert!(error.to_string().ends_with("ONNX Runtime: as told"), "{error}");
    assert_eq!(outcomes[2].1.as_ref().unwrap().dimensions.novelty, 0.0);
}

#[test]
fn closing_ends_what_runs_and_drops_what_waits() {
    let scorer = Scorer::new(monotonic_clock).unwrap();
    let embedder = Arc::<Told>::default();
    let (sender, receiver) = mpsc::channel::<()>();
    for _ in 0..50 {
        let sender = sender.clone();
        let reply = Box::new(move |_| sender.send(()).unwrap());
        scorer.submit(trace("hang"), embedder.clone(), Detail::Value, reply).unwrap();
    }
    while embedder.calls.load(Ordering::SeqCst) == 0 {
        thread::yield_now();
    }
    scorer.close();
    let begun = embedder.calls.load(Ordering::SeqCst);
    drop(sender);
    assert!(receiver.recv().is_err(), "no call is answered after closing");
    assert_eq!(embedder.calls.load(Ordering::SeqCst), begun, "nothing begins after closing");
    let refused = scorer.submit(trace("1"), embedder, Detail::Value, Box::new(|_| {}));
    assert_eq!(refused.unwrap_err().code(), "CLOSED");
}

#[test]
fn a_reply_that_panics_hurts_only_itself() {
    let scorer = Scorer::new(monotonic_clock).unwrap();
    let embedder = Arc::<Told>::default();
    let reply = Box::new(|_| panic!("in the reply"));
    scorer.submit(trace("1"), embedder.clone(), Detail::Account, reply).unwrap();
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
    let scorer = Scorer::new(monotonic_clock).unwrap();
    let embedder = Arc::<Told>::default();
    let (sender, receiver) = mpsc::channel();
    let submit = |name: &'static str, trace, detail| {
        let sender = sender.clone();
        let reply = Box::new(move |result| sender.send((name, result)).unwrap());
        scorer.submit(trace, embedder.clone(), detail, reply).unwrap();
    };
    submit("slow", trace("0"), Detail::Value);
    submit("value", thought("7"), Detail::Value);
    submit("account", thought("7"), Detail::Account);
    let (first, result) = receiver.recv().unwrap();
    assert_eq!((first, result), ("value", Ok(Outcome::Value(0.1))));
    assert_eq!(receiver.recv().unwrap().0, "slow");
    let (_, account) = receiver.recv().unwrap();
    let Ok(Outcome::Scored(score)) = account else { panic!("{account:?}") };
    assert_eq!((score.value, score.dimensions.novelty), (0.1, 0.0), "the value is in the cache");
    assert_eq!(scorer.cache().lock().unwrap().len(monotonic_clock()), 3);
}

#[test]
fn clearing_the_cache_also_clears_what_is_answered_and_on_its_way() {
    let scorer = Scorer::new(monotonic_clock).unwrap();
    let embedder = Arc::<Told>::default();
    let (sender, receiver) = mpsc::channel();
    let submit = |trace, detail| {
        let sender = sender.clone();
        let reply = Box::new(move |result| sender.send(result).unwrap());
        scorer.submit(trace, embedder.clone(), detail, reply).unwrap();
    };
    submit(thought("0"), Detail::Value);
    assert_eq!(receiver.recv().unwrap(), Ok(Outcome::Value(0.1)));
    scorer.clear_cache();
    submit(thought("0"), Detail::Account);
    let Ok(Outcome::Scored(score)) = receiver.recv().unwrap() else { panic!("no account") };
    assert_eq!(score.dimensions.novelty, 0.5, "nothing to compare with");
    assert_eq!(scorer.cache().lock().unwrap().len(monotonic_clock()), 1);
}

#[test]
fn a_required_embedder_is_waited_for() {
    let scorer = Scorer::new(monotonic_clock).unwrap();
    let embedder = Arc::new(Told { required: true, ..Told::default() });
    let (sender, receiver) = mpsc::channel();
    let reply = Box::new(move |result| sender.send(result).unwrap());
    scorer.submit(thought("fail"), embedder, Detail::Value, reply).unwrap();
    assert_eq!(receiver.recv().unwrap().unwrap_err().code(), "EMBEDDER_UNAVAILABLE");
}
