//! A trace from JSON to its score, without the model: what everything but the embedding costs.

use std::sync::{Arc, mpsc};

use divan::{Bencher, counter::ItemsCount};
use knowledgepulse_scoring::{
    embedder::{CancelToken, DIMENSIONS, Embed, EmbedError, Embedded, Embedding, Text},
    scorer::{Detail, Outcome, Scorer, ScorerOptions, Task, monotonic_clock},
    trace::Trace,
};
use serde_json::{Value, json};

const STEPS: [usize; 2] = [5, 20];
const BATCH: usize = 256;

fn main() {
    divan::main();
}

/// Gives every text a vector at once.
struct Instant;

impl Embed for Instant {
    fn embed(&self, text: &Text, _: &CancelToken) -> Result<Embedded, EmbedError> {
        let mut embedding: Embedding = Box::new([0.01; DIMENSIONS]);
        embedding[text.as_str().len() % DIMENSIONS] = 1.0;
        Ok(embedding.into())
    }

    fn is_required(&self) -> bool {
        false
    }
}

fn trace(steps: usize) -> Value {
    let step = |index: usize| {
        let kind = ["thought", "tool_call", "observation", "error_recovery"][index % 4];
        let content = format!("step {index} looks at the log of the failing test once more");
        json!({ "type": kind, "content": content, "tool": { "name": format!("tool-{}", index % 3) } })
    };
    json!({
        "metadata": { "task_domain": "code", "success": true },
        "task": { "objective": "find out why the scheduler tests fail now and then" },
        "steps": (0..steps).map(step).collect::<Vec<_>>(),
        "outcome": { "confidence": 0.9 },
    })
}

#[divan::bench(args = STEPS)]
fn read(bencher: Bencher, steps: usize) {
    let json = trace(steps);
    let read = || Trace::from_json(&json).expect("a valid trace");
    assert_eq!(read().steps().len(), steps);
    bencher.counter(ItemsCount::new(1_u32)).bench_local(read);
}

/// A batch of traces against a full cache, from submission to the last reply.
#[divan::bench(args = STEPS)]
fn score(bencher: Bencher, steps: usize) {
    let scorer = Scorer::new(monotonic_clock, ScorerOptions::default()).expect("a scorer");
    let json = trace(steps);
    let embedder = Arc::new(Instant);
    let batch = || {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..BATCH {
            let sender = sender.clone();
            let trace = Trace::from_json(&json).expect("a valid trace");
            let reply = Box::new(move |result| sender.send(result).expect("a receiver"));
            scorer
                .submit(Task::Score(Detail::Account), trace, embedder.clone(), reply)
                .expect("a ticket");
        }
        drop(sender);
        let scored = receiver.iter().filter(|result| matches!(result, Ok(Outcome::Scored(_))));
        assert_eq!(scored.count(), BATCH);
    };
    (0..=1000 / BATCH).for_each(|_| batch());
    bencher.counter(ItemsCount::new(BATCH)).bench_local(batch);
}
