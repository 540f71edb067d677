//! A call that somebody waits for, or nobody any more.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use once_cell::sync::OnceCell;

use super::{Outcome, Reply, deadlines::Deadline};
use crate::{
    embedder::CancelToken,
    error::{Error, Result},
    trace::Trace,
};

/// What the caller and the threads of the pool share of a call.
pub struct Pending {
    /// `None` only warms up.
    pub trace: Option<Trace>,
    /// When it was submitted.
    pub since: Duration,
    pub cancel: CancelToken,
    /// The end of its budget, for as long as the call lives.
    pub deadline: OnceCell<Deadline>,
    state: Mutex<State>,
}

enum State {
    Waiting(Reply),
    /// The caller has its answer; the embedding may still be on its way to the cache.
    Answered,
    /// The caller wants none; the call leaves no mark.
    Aborted,
}

/// Who a result is for.
pub enum Claim {
    Caller(Reply),
    /// Nobody; it enters the cache all the same.
    Cache,
    /// Nobody, and it is to leave no mark.
    Nothing,
}

impl Pending {
    pub fn new(trace: Option<Trace>, since: Duration, reply: Reply) -> Arc<Self> {
        let state = Mutex::new(State::Waiting(reply));
        let (cancel, deadline) = Default::default();
        Arc::new(Self { trace, since, cancel, deadline, state })
    }

    /// Claims the call for its result: from here on it cannot be aborted any more.
    pub fn claim(&self) -> Claim {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Answered) {
            State::Waiting(reply) => Claim::Caller(reply),
            State::Answered => Claim::Cache,
            State::Aborted => {
                *state = State::Aborted;
                Claim::Nothing
            }
        }
    }

    /// Answers early, unless somebody else has; says whether it did.
    pub fn answer(&self, result: impl FnOnce() -> Result<Outcome>) -> bool {
        self.end(State::Answered).map(|reply| reply(result())).is_some()
    }

    /// Answers with `ABORTED` and ends the work, unless the result has been claimed already.
    pub fn abort(&self) -> bool {
        let Some(reply) = self.end(State::Aborted) else { return false };
        self.cancel.cancel();
        reply(Err(Error::aborted()));
        true
    }

    /// Whether the caller has given up.
    pub fn is_aborted(&self) -> bool {
        matches!(*self.lock(), State::Aborted)
    }

    fn end(&self, end: State) -> Option<Reply> {
        let mut state = self.lock();
        if !matches!(*state, State::Waiting(_)) {
            return None;
        }
        match std::mem::replace(&mut *state, end) {
            State::Waiting(reply) => Some(reply),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Barrier,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
    };

    use super::*;

    #[test]
    fn whoever_is_first_answers_and_nobody_else() {
        for _ in 0..if cfg!(miri) { 20 } else { 2000 } {
            let answers = Arc::new(AtomicUsize::new(0));
            let counted = answers.clone();
            let reply = Box::new(move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
            });
            let pending = Pending::new(None, Duration::ZERO, reply);
            let start = Barrier::new(3);
            let (aborted, early, claim) = thread::scope(|scope| {
                let abort = scope.spawn(|| {
                    start.wait();
                    pending.abort()
                });
                let early = scope.spawn(|| {
                    start.wait();
                    pending.answer(|| Ok(Outcome::Remembered))
                });
                start.wait();
                let claim = pending.claim();
                (abort.join().unwrap(), early.join().unwrap(), claim)
            });
            assert_eq!((pending.is_aborted(), pending.cancel.is_cancelled()), (aborted, aborted));
            let first = match claim {
                Claim::Caller(reply) => {
                    reply(Ok(Outcome::Remembered));
                    (false, false)
                }
                Claim::Cache => (false, true),
                Claim::Nothing => (true, false),
            };
            assert_eq!((aborted, early), first);
            assert_eq!(answers.load(Ordering::SeqCst), 1);
        }
    }
}
