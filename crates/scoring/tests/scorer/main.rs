//! Scorers with memories of their own and with stores, in one program: each of its own would have to be linked.

mod decide;
mod order;
mod races;
mod select;
mod store;

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    time::Duration,
};

use knowledgepulse_scoring::{
    Result, Scorer,
    scorer::{CallHandle, Input, Outcome, Work},
};
use knowledgepulse_test_support::{FakeEmbedder, input, trace};
use serde_json::json;

type Answer = Result<Outcome>;

/// A lost answer or a deadlock is a failure, not an endless test.
const LIMIT: Duration = Duration::from_secs(20);

/// A trace with this text, which is its id, too.
fn says(text: &str) -> Input {
    input(&trace(json!({ "id": text, "task": { "objective": text } })))
}

/// Receives what comes next.
#[track_caller]
fn receive<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(LIMIT).expect("an answer in time")
}

/// Submits a call, whose answer is received. A test need not wait for it.
fn submit(
    scorer: &Arc<Scorer>,
    embedder: &Arc<FakeEmbedder>,
    work: Work,
) -> (CallHandle, Receiver<Answer>) {
    let (sender, receiver) = channel();
    let reply = Box::new(move |answer| drop(sender.send(answer)));
    (scorer.submit(work, Ok(embedder.clone()), reply), receiver)
}

/// Submits calls, whose answers are received with the number of the call, in the order in which they come.
fn submit_all(
    scorer: &Arc<Scorer>,
    embedder: &Arc<FakeEmbedder>,
    calls: impl IntoIterator<Item = Work>,
) -> Receiver<(usize, Answer)> {
    let (sender, receiver) = channel();
    for (number, work) in calls.into_iter().enumerate() {
        let sender = sender.clone();
        let reply = Box::new(move |answer| sender.send((number, answer)).expect("a receiver"));
        scorer.submit(work, Ok(embedder.clone()), reply);
    }
    receiver
}
