//! A trace to its score, without the model: what everything but the embedding costs.

use std::sync::mpsc;

use divan::{Bencher, counter::ItemsCount};
use knowledgepulse_scoring::{
    Scorer,
    scorer::{Outcome, ScorerOptions, Work},
};
use knowledgepulse_test_support::{FakeEmbedder, input};
use serde_json::{Value, json};

const STEPS: [usize; 2] = [5, 20];
const BATCH: usize = 256;

fn main() {
    divan::main();
}

fn trace(steps: usize) -> Value {
    let step = |index: usize| {
        let kind = ["thought", "tool_call", "observation", "error_recovery"][index % 4];
        let content = format!("step {index} looks at the log of the failing test once more");
        json!({ "type": kind, "content": content, "tool": { "name": format!("tool-{}", index % 3) } })
    };
    knowledgepulse_test_support::trace(json!({
        "task": { "objective": "find out why the scheduler tests fail now and then" },
        "steps": (0..steps).map(step).collect::<Vec<_>>(),
    }))
}

/// A batch of traces against a full cache, from submission to the last reply.
#[divan::bench(args = STEPS)]
fn submit(bencher: Bencher, steps: usize) {
    let scorer = Scorer::new(ScorerOptions::default()).expect("a scorer");
    let json = trace(steps);
    let embedder = FakeEmbedder::new();
    let batch = || {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..BATCH {
            let sender = sender.clone();
            let reply = Box::new(move |result| sender.send(result).expect("a receiver"));
            scorer.submit(Work::Score(input(&json)), Ok(embedder.clone()), reply);
        }
        drop(sender);
        let scored = receiver.iter().filter(|result| matches!(result, Ok(Outcome::Scored(_))));
        assert_eq!(scored.count(), BATCH);
    };
    (0..=1000 / BATCH).for_each(|_| batch());
    bencher.counter(ItemsCount::new(BATCH)).bench_local(batch);
}
