//! The threads of the engine: as many as the process may use cores.

use once_cell::sync::OnceCell;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// How many texts are embedded at once: one for each core that the process may use.
pub fn pool_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
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
