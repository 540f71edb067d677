//! The threads of a model.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use once_cell::sync::OnceCell;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The maximum number of threads: half of the linear layers have 8 tasks.
const MAX_THREADS: usize = 8;

/// The threads of a model, for a text that is alone.
pub(crate) struct Threads {
    count: usize,
    /// The number of windows that are being embedded.
    running: AtomicUsize,
    /// Made for the first text; `None` inside for one thread, or if the system refuses more.
    pool: OnceCell<Option<ThreadPool>>,
}

impl Threads {
    /// Returns up to `count` threads, which are started when they are needed.
    pub fn new(count: usize) -> Self {
        Self { count: count.min(MAX_THREADS), running: 0.into(), pool: OnceCell::new() }
    }

    /// Runs `work` with the number of threads that kernels can use: all if no other window is running, else only the
    /// calling one.
    pub fn run<R: Send>(&self, work: impl FnOnce(usize) -> R + Send) -> R {
        let is_alone = self.running.fetch_add(1, Ordering::SeqCst) == 0;
        let _running = OnDrop(|| _ = self.running.fetch_sub(1, Ordering::SeqCst));
        match is_alone.then(|| self.pool()).flatten() {
            Some(pool) => pool.install(|| with_spinning_threads(|| work(self.count))),
            None => work(1),
        }
    }

    fn pool(&self) -> Option<&ThreadPool> {
        let make = || {
            let name = |index| format!("kp-text-{index}");
            let pool = ThreadPoolBuilder::new().num_threads(self.count).thread_name(name);
            (self.count > 1).then(|| pool.build().ok()).flatten()
        };
        self.pool.get_or_init(make).as_ref()
    }
}

/// Calls a function when dropped, also when a panic unwinds.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Runs `work` on a thread of a pool. Meanwhile the other threads look for its tasks without sleeping: waking a
/// thread takes longer than many of the tasks.
fn with_spinning_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let (is_done, here) = (AtomicBool::new(false), rayon::current_thread_index());
    rayon::scope(|scope| {
        let _done = OnDrop(|| is_done.store(true, Ordering::Release));
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
