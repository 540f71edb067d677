//! One thread of the process that does things at their time.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use once_cell::sync::OnceCell;

use crate::error::{Error, Result};

type Task = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Deadlines {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    order: BinaryHeap<Reverse<(Instant, u64)>>,
    tasks: BTreeMap<u64, Task>,
    issued: u64,
}

/// Does `task` at `when`, or as soon after it as the thread gets to it. It must be quick.
///
/// # Errors
///
/// `INTERNAL` when the system gives no thread.
pub fn at(when: Instant, task: impl FnOnce() + Send + 'static) -> Result<()> {
    let deadlines = running()?;
    let mut state = deadlines.lock();
    let ticket = state.issued;
    state.issued += 1;
    state.order.push(Reverse((when, ticket)));
    state.tasks.insert(ticket, Box::new(task));
    deadlines.changed.notify_one();
    Ok(())
}

fn running() -> Result<&'static Deadlines> {
    static DEADLINES: OnceCell<&'static Deadlines> = OnceCell::new();
    DEADLINES
        .get_or_try_init(|| {
            let deadlines: &'static Deadlines = Box::leak(Box::default());
            thread::Builder::new()
                .name("kp-deadlines".into())
                .spawn(|| deadlines.run())
                .map_err(|error| Error::internal(format!("no thread for deadlines: {error}")))?;
            Ok(deadlines)
        })
        .copied()
}

impl Deadlines {
    fn run(&self) {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            state = match state.order.peek() {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Reverse((when, _))) if *when > now => {
                    let rest = *when - now;
                    let waited = self.changed.wait_timeout(state, rest);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                Some(Reverse((_, ticket))) => {
                    let ticket = *ticket;
                    state.order.pop();
                    let task = state.tasks.remove(&ticket);
                    drop(state);
                    // One that panics must not end the thread for the others.
                    let _ = catch_unwind(AssertUnwindSafe(|| task.map(|task| task())));
                    self.lock()
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    #[test]
    fn things_are_done_in_the_order_of_their_times_and_not_before() {
        let (sender, receiver) = mpsc::channel();
        let start = Instant::now();
        for ms in [40, 10, 30, 0, 20] {
            let sender = sender.clone();
            let when = start + Duration::from_millis(ms);
            at(when, move || sender.send((ms, Instant::now() >= when)).unwrap()).unwrap();
        }
        at(start, || panic!("must not end the thread")).unwrap();
        let done: Vec<_> = (0..5).map(|_| receiver.recv().unwrap()).collect();
        assert_eq!(done, [0, 10, 20, 30, 40].map(|ms| (ms, true)));
    }
}
