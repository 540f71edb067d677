//! The priorities of lanes, in a process of its own: threads inherit that of the thread that starts them.

#![cfg(target_os = "linux")]

use std::sync::mpsc::channel;

use knowledgepulse_workers::{IMPORTS, LONG, Lane, SELECTIONS, WORKERS};
use rustix::process::getpriority_process;

/// Returns what `job` returns on a thread of a lane.
fn on<R: Send + 'static>(lane: &'static Lane, job: fn() -> R) -> R {
    let (sender, receiver) = channel();
    lane.threads().unwrap().spawn(move || sender.send(job()).unwrap());
    receiver.recv().unwrap()
}

fn niceness() -> i32 {
    getpriority_process(None).unwrap()
}

#[test]
fn lanes_have_their_priority_whoever_starts_them() {
    let usual = niceness();
    assert_eq!(on(&IMPORTS, || on(&WORKERS, niceness)), usual, "of scores");
    assert_eq!(
        [&IMPORTS, &LONG, &SELECTIONS].map(|lane| on(lane, niceness)),
        [(usual + 10).min(19); 3]
    );
}
