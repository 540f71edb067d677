//! The threads of the engine: as many as the process may use cores.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread::{self, ScopedJoinHandle},
};

use once_cell::sync::OnceCell;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// How many texts are embedded at once: one for each core that the process may use.
pub fn pool_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The threads of all scorers of the process, started by the first call.
///
/// # Errors
///
/// `INTERNAL` when the system gives none.
pub fn pool() -> Result<&'static ThreadPool> {
    static POOL: OnceCell<ThreadPool> = OnceCell::new();
    POOL.get_or_try_init(|| {
        ThreadPoolBuilder::new()
            .num_threads(pool_threads())
            .thread_name(|index| format!("kp-scoring-{index}"))
            .build()
            .map_err(|error| Error::internal(format!("no threads to score on: {error}")))
    })
}

/// Does both, side by side where the system gives a thread for that, else one after the other. `Err` is
/// what `other` has panicked with.
pub fn both<A: Send, B>(
    other: impl Fn() -> A + Sync,
    here: impl FnOnce() -> B,
) -> (thread::Result<A>, B) {
    thread::scope(|scope| {
        let spawned = thread::Builder::new().spawn_scoped(scope, &other);
        let here = here();
        let refused = |_| catch_unwind(AssertUnwindSafe(&other));
        (spawned.map_or_else(refused, ScopedJoinHandle::join), here)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_done_and_a_panic_of_the_other_is_told() {
        let (a, b) = both(|| 1, || 2);
        assert_eq!((a.ok(), b), (Some(1), 2));
        let (a, b) = both(|| panic!("on purpose"), || 2);
        let a: thread::Result<()> = a;
        assert_eq!((a.is_err(), b), (true, 2));
    }
}
