//! The threads of a model.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use once_cell::sync::OnceCell;
use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};

/// The maximum number of threads: half of the linear layers have 8 tasks.
const MAX_THREADS: usize = 8;

/// The threads for a single text.
pub(crate) struct Threads {
    count: usize,
    /// Made for the first single text; `None` inside for one thread, or if the system refuses more.
    pool: OnceCell<Option<Mutex<ThreadPool>>>,
}

impl Threads {
    /// Returns up to `count` threads, which are started when they are needed.
    pub fn new(count: usize) -> Self {
        Self { count: count.min(MAX_THREADS), pool: OnceCell::new() }
    }

    /// Runs `work` with the number of threads that [`spread`] can use: all if the text is single and no other
    /// has them, else only the calling one.
    pub fn run<R: Send>(&self, is_alone: bool, work: impl FnOnce(usize) -> R + Send) -> R {
        let pool = is_alone.then(|| self.pool()).flatten().and_then(|pool| pool.try_lock().ok());
        match pool {
            Some(pool) => pool.install(|| with_spinning_threads(|| work(self.count))),
            None => work(1),
        }
    }

    fn pool(&self) -> Option<&Mutex<ThreadPool>> {
        let make = || {
            let name = |index| format!("kp-text-{index}");
            let pool = ThreadPoolBuilder::new().num_threads(self.count).thread_name(name);
            (self.count > 1).then(|| pool.build().ok()).flatten().map(Mutex::new)
        };
        self.pool.get_or_init(make).as_ref()
    }
}

/// Calls `task` with each number below `count`, on all threads of the calling thread's pool.
pub(crate) fn spread(count: usize, task: &(dyn Fn(usize) + Send + Sync)) {
    if rayon::current_thread_index().is_some() {
        (0..count).into_par_iter().with_max_len(1).for_each(task);
    } else {
        (0..count).for_each(task);
    }
}

/// Runs `work` on a thread of a pool. Meanwhile the other threads look for its tasks without sleeping: waking a
/// thread takes longer than many of the tasks.
fn with_spinning_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let (is_done, here) = (AtomicBool::new(false), rayon::current_thread_index());
    rayon::scope(|scope| {
        // Also if `work` panics.
        let _done = Done(&is_done);
        scope.spawn_broadcast(|_, context| {
            while Some(context.index()) != here && !is_done.load(Ordering::Acquire) {
                if rayon::yield_now() != Some(rayon::Yield::Executed) {
                    thread::yield_now();
                }
            }
        });
        work()
    })
}
