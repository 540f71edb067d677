//! One thread of the process that does things at their time.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use once_cell::sync::OnceCell;

use crate::error::{Error, Result};

type Task = Box<dyn FnOnce() + Send>;

/// When, and a number of its own for each.
type Place = (Instant, u64);

#[derive(Default)]
pub struct Deadlines {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    tasks: BTreeMap<Place, Task>,
    issued: u64,
}

/// Something that is to be done at its time, unless this is dropped before.
pub struct Deadline {
    deadlines: &'static Deadlines,
    place: Place,
}

impl Drop for Deadline {
    fn drop(&mut self) {
        let task = self.deadlines.lock().tasks.remove(&self.place);
        // Not under the lock: what belongs to it may have deadlines itself.
        drop(task);
    }
}

impl Deadlines {
    /// Those of the process; the first call starts their thread.
    ///
    /// # Errors
    ///
    /// `INTERNAL` when the system gives no thread.
    pub fn running() -> Result<&'static Self> {
        static DEADLINES: OnceCell<&'static Deadlines> = OnceCell::new();
        DEADLINES
            .get_or_try_init(|| {
                let deadlines: &'static Self = Box::leak(Box::default());
                thread::Builder::new()
                    .name("kp-deadlines".into())
                    .spawn(|| deadlines.run())
                    .map_err(|error| {
                        Error::internal(format!("no thread for deadlines: {error}"))
                    })?;
                Ok(deadlines)
            })
            .copied()
    }

    /// Does `task` at `when`, or as soon after it as the thread gets to it. It must be quick.
    pub fn at(&'static self, when: Instant, task: impl FnOnce() + Send + 'static) -> Deadline {
        let mut state = self.lock();
        let place = (when, state.issued);
        state.issued += 1;
        state.tasks.insert(place, Box::new(task));
        self.changed.notify_one();
        Deadline { deadlines: self, place }
    }

    fn run(&self) {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let next = state.tasks.first_key_value().map(|((when, _), _)| *when);
            state = match next {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(when) if when > now => {
                    let waited = self.changed.wait_timeout(state, when - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                Some(_) => {
                    let task = state.tasks.pop_first();
                    drop(state);
                    // One that panics must not end the thread for the others.
                    let _ = catch_unwind(AssertUnwindSafe(|| task.map(|(_, task)| task())));
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
        let deadlines = Deadlines::running().unwrap();
        let mut kept = vec![deadlines.at(start, || panic!("must not end the thread"))];
        for ms in [40, 10, 30, 0, 20] {
            let sender = sender.clone();
            let when = start + Duration::from_millis(ms);
            let task = move || sender.send((ms, Instant::now() >= when)).unwrap();
            kept.push(deadlines.at(when, task));
        }
        let done: Vec<_> = (0..5).map(|_| receiver.recv().unwrap()).collect();
        assert_eq!(done, [0, 10, 20, 30, 40].map(|ms| (ms, true)));
    }

    #[test]
    fn what_is_dropped_is_not_done_and_takes_no_memory() {
        let held = std::sync::Arc::new(());
        let holds = held.clone();
        let hour = Instant::now() + Duration::from_secs(3600);
        let deadline = Deadlines::running().unwrap().at(hour, move || drop(holds));
        assert_eq!(std::sync::Arc::strong_count(&held), 2);
        drop(deadline);
        assert_eq!(std::sync::Arc::strong_count(&held), 1);
    }
}
