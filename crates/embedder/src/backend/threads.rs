//! The threads of a model.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use once_cell::sync::OnceCell;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The maximum number of threads: half of the linear layers have 8 tasks.
const MAX_THREADS: usize = 8;

/// The number of times that a thread looks for tasks in vain before it sleeps, some milliseconds. It must end: a thread that
/// has taken a task before it began to look does so within this task, for whose end `work` waits.
const MAX_IDLE: u32 = 5000;

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
    #[cfg(target_os = "linux")]
    let busy = rustix::thread::sched_getcpu();
    rayon::scope(|scope| {
        let _done = OnDrop(|| is_done.store(true, Ordering::Release));
        scope.spawn_broadcast(|_, context| {
            if Some(context.index()) == here {
                return;
            }
            #[cfg(target_os = "linux")]
            leave(busy);
            let mut idle = 0;
            while idle < MAX_IDLE && !is_done.load(Ordering::Acquire) {
                if rayon::yield_now() == Some(rayon::Yield::Executed) {
                    idle = 0;
                } else {
                    idle += 1;
                    thread::yield_now();
                }
            }
        });
        // Threads that were woken on this CPU leave it now, not when `work` first waits.
        thread::yield_now();
        work()
    })
}

/// Moves the calling thread away from the CPU `busy` if another one is idle. After a pause, Linux may wake a thread on the
/// CPU of the thread that wakes it, and both then share it for milliseconds.
#[cfg(target_os = "linux")]
fn leave(busy: usize) {
    use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};
    if sched_getcpu() != busy {
        return;
    }
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut others = allowed;
    others.unset(busy);
    // Sharing a CPU with another process would be slower than this one. Fails if no other is allowed.
    if runnable_threads().is_some_and(|threads| threads <= allowed.count())
        && sched_setaffinity(None, &others).is_ok()
    {
        _ = sched_setaffinity(None, &allowed);
    }
}

/// Returns the number of threads of the system that run or wait for a CPU.
#[cfg(target_os = "linux")]
fn runnable_threads() -> Option<u32> {
    // 0.20 0.18 0.12 2/80 11206
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    load.split([' ', '/']).nth(3)?.parse().ok()
}
