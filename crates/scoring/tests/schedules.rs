//! Calls, their batches and the end of the scorer, in orders that are drawn: every call gets one answer.
//!
//!     cargo test -p knowledgepulse-scoring --features shuttle --test schedules

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use knowledgepulse_scoring::{
    Error, Scorer, StoreFault,
    scorer::{Change, Outcome, ScorerOptions, Work},
};
use knowledgepulse_test_support::{FakeEmbedder, input, repeats, trace};
use knowledgepulse_workers::Intake;
use serde_json::json;
use shuttle::{
    check_random,
    sync::{
        Condvar, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

/// How many orders are drawn.
fn schedules() -> usize {
    repeats(2_000)
}

type Answer = Result<Outcome, Error>;

fn options() -> ScorerOptions {
    ScorerOptions { concurrency: 2, ..ScorerOptions::default() }
}

fn scorer_with_store() -> Arc<Scorer> {
    Scorer::with_store(options(), false, None).expect("a scorer")
}

fn submit(scorer: &Arc<Scorer>, count: usize) -> Vec<Receiver<Answer>> {
    let submit = |number: usize| {
        let (sender, answers) = channel();
        let reply = Box::new(move |answer| sender.send(answer).expect("a receiver"));
        let work =
            Work::Score(input(&trace(json!({ "task": { "objective": number.to_string() } }))));
        scorer.submit(work, Ok(FakeEmbedder::new()), reply);
        answers
    };
    (0..count).map(submit).collect()
}

/// Answers the next batch as one that the store cannot take.
fn carry(scorer: &Scorer) {
    let Some(memory) = scorer.store_memory() else { return };
    let (sender, batch): (Sender<Vec<Option<Change>>>, _) = channel();
    if memory.next_batch(64, Box::new(move |batch| sender.send(batch).expect("a receiver"))) {
        memory.hand_over();
    }
    if !batch.recv().expect("a batch").is_empty() {
        memory.fail_batch(&Error::store(StoreFault::Unavailable, "no store"));
    }
}

/// A call without an answer is a deadlock here.
fn assert_answered(scorer: &Scorer, calls: Vec<Receiver<Answer>>) {
    for answers in calls {
        let _answer = answers.recv().expect("an answer");
    }
    assert_eq!(scorer.statistics().pending(), 0);
}

fn close_meanwhile(scorer: Arc<Scorer>) {
    let calls = submit(&scorer, 3);
    let (closing, carrying) = (scorer.clone(), scorer.clone());
    let closer = thread::spawn(move || closing.close());
    let taker = thread::spawn(move || carry(&carrying));
    closer.join().expect("no panic");
    // It may have taken calls to answer them.
    taker.join().expect("no panic");
    assert_answered(&scorer, calls);
}

#[test]
fn close_answers_every_call_once() {
    check_random(|| close_meanwhile(Scorer::new(options())), schedules());
}

#[test]
fn close_answers_every_call_on_its_way_to_a_store_once() {
    check_random(|| close_meanwhile(scorer_with_store()), schedules());
}

#[test]
fn wait_until_idle_waits_for_work_in_the_background() {
    let close_meanwhile = || {
        let scorer = Scorer::new(options());
        let (working, is_over) = (scorer.clone(), Arc::new(AtomicBool::new(true)));
        let set_over = is_over.clone();
        let worker = thread::spawn(move || {
            working.during(|| {
                set_over.store(false, Ordering::SeqCst);
                thread::yield_now();
                set_over.store(true, Ordering::SeqCst);
                Ok(())
            })
        });
        scorer.close();
        assert!(scorer.wait_until_idle(Instant::now() + Duration::from_secs(60)));
        assert!(is_over.load(Ordering::SeqCst));
        let _ = worker.join().expect("no panic");
        assert!(is_over.load(Ordering::SeqCst));
    };
    check_random(close_meanwhile, schedules());
}

#[test]
fn taker_that_panics_costs_no_other_call_its_answer() {
    let answer_all = || {
        let scorer = scorer_with_store();
        let calls = submit(&scorer, 3);
        let (sender, batch) = channel::<()>();
        let taker = Box::new(move |_| {
            let _dropped = sender;
            // Without a message.
            resume_unwind(Box::new("on purpose"));
        });
        let memory = scorer.store_memory().expect("a scorer with a store");
        if memory.next_batch(1, taker) {
            let _ = catch_unwind(AssertUnwindSafe(|| memory.hand_over()));
        }
        assert!(batch.recv().is_err(), "the taker has panicked");
        while scorer.statistics().pending() > 0 {
            carry(&scorer);
        }
        assert_answered(&scorer, calls);
        scorer.close();
    };
    check_random(answer_all, schedules());
}

/// What is read and not yet taken, and what is still to be read.
#[derive(Default)]
struct Buffer {
    intake: Intake,
    filled: usize,
    left: usize,
}

impl Buffer {
    fn is_full(&self) -> bool {
        self.filled >= 2
    }
}

#[test]
fn intake_goes_on_whenever_room_is_made() {
    let take_all = || {
        let buffer = Buffer { left: 5, ..Buffer::default() };
        let buffer = Arc::new((Mutex::new(buffer), Condvar::new()));
        let fill = |buffer: &Arc<(Mutex<Buffer>, Condvar)>| {
            let buffer = buffer.clone();
            thread::spawn(move || {
                let (state, changed) = &*buffer;
                let goes_on = || {
                    let mut state = state.lock().expect("no panic");
                    let is_full = state.is_full();
                    state.intake.goes_on(is_full)
                };
                while goes_on() {
                    let mut state = state.lock().expect("no panic");
                    if state.left == 0 {
                        state.intake.read();
                        break;
                    }
                    state.left -= 1;
                    state.filled += 1;
                }
                // What was read is told when reading has stopped.
                let _told = state.lock().expect("no panic");
                changed.notify_one();
            });
        };
        fill(&buffer);
        let (state, changed) = &*buffer;
        let mut taken = 0;
        while taken < 5 {
            let mut state = state.lock().expect("no panic");
            let is_full = state.is_full();
            if state.intake.resumes(is_full) {
                fill(&buffer);
            }
            while state.filled == 0 {
                state = changed.wait(state).expect("no panic");
            }
            taken += std::mem::take(&mut state.filled);
        }
    };
    check_random(take_all, schedules());
}
