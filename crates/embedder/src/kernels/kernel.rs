//! Kernels, the tasks that they are divided into, and the threads that run these.
//!
//! The thread that embeds a text is one of them. The others, its helpers, sleep between texts. During a text they look for
//! tasks without sleeping, because waking a thread takes longer than many of the tasks.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, Thread},
};

use knowledgepulse_workers::{builder, fault};
use once_cell::sync::OnceCell;
use pulp::{Arch, Simd, WithSimd};

/// A computation in tasks, which may run in any order on any threads with the same bits.
pub trait Kernel: Sync {
    /// Returns the number of tasks.
    fn tasks(&self) -> usize;

    /// Runs a task, counted from 0, in the registers of `simd`.
    ///
    /// This and everything that it calls must be `#[inline(always)]` and have no closures, which are not compiled for the
    /// registers.
    ///
    /// # Safety
    ///
    /// No other thread may run the same task at the same time.
    unsafe fn run_task<S: Simd>(&self, simd: S, task: usize);
}

/// Runs all tasks of a kernel in the widest registers of the machine, on the threads of a text. Returns whether no task
/// has panicked. Takes the kernel, because two runs of it would write the same numbers:
///
/// ```compile_fail,E0382
/// use knowledgepulse_embedder::kernels::{LayerNorm, Norm, Team, run};
///
/// let norm = Norm { gamma: vec![1.0; 16].into(), beta: vec![0.0; 16].into() };
/// let (x, mut y) = ([1.0; 16], [0.0; 16]);
/// let kernel = LayerNorm::new(&norm, &x, &mut y);
/// std::thread::scope(|scope| {
///     scope.spawn(|| run(kernel, &Team::alone()));
///     scope.spawn(|| run(kernel, &Team::alone()));
/// });
/// ```
pub fn run(kernel: impl Kernel, team: &Team) -> bool {
    let arch = Arch::new();
    team.for_each(kernel.tasks(), |index| {
        fault::point("task");
        // Each task runs once.
        arch.dispatch(Task { kernel: &kernel, index });
    })
}

/// One task of a kernel. Its maker must uphold the contract of [`Kernel::run_task`].
pub(super) struct Task<'a, K> {
    pub kernel: &'a K,
    pub index: usize,
}

impl<K: Kernel> WithSimd for Task<'_, K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: whoever made the task promises it.
        unsafe { self.kernel.run_task(simd, self.index) }
    }
}

/// The maximum number of threads: half of the linear layers have 8 tasks.
const MAX_THREADS: usize = 8;

/// The threads of a model, for a text that is alone.
pub(crate) struct TextThreads {
    count: usize,
    /// The number of windows that are being embedded.
    running: AtomicUsize,
    /// Started for the first text.
    helpers: OnceCell<(Arc<Team>, Vec<Thread>)>,
}

impl TextThreads {
    /// Returns up to `count` threads, which are started when they are needed.
    pub fn new(count: usize) -> Self {
        Self { count: count.min(MAX_THREADS), running: 0.into(), helpers: OnceCell::new() }
    }

    /// Runs `work` with the threads that kernels can use: all if no other window is running, else only the calling one.
    pub fn for_text<R>(&self, work: impl FnOnce(&Team) -> R) -> R {
        let is_alone = self.running.fetch_add(1, SeqCst) == 0;
        let _running = OnDrop(|| _ = self.running.fetch_sub(1, SeqCst));
        if !is_alone || self.count < 2 {
            return work(&Team::alone());
        }
        let (team, helpers) = self.helpers.get_or_init(|| Team::start(self.count));
        team.is_looking.store(true, SeqCst);
        helpers.iter().for_each(Thread::unpark);
        let _over = OnDrop(|| team.is_looking.store(false, SeqCst));
        work(team)
    }
}

impl Drop for TextThreads {
    fn drop(&mut self) {
        if let Some((team, helpers)) = self.helpers.get() {
            team.is_over.store(true, SeqCst);
            helpers.iter().for_each(Thread::unpark);
        }
    }
}

/// Calls a function when dropped, also when a panic unwinds.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The tasks of a kernel. Each thread has a part of them: tasks in a row share caches.
struct Tasks<'a> {
    run: &'a (dyn Fn(usize) + Sync),
    count: usize,
    /// How many tasks of each part have been taken.
    taken: [AtomicUsize; MAX_THREADS],
    has_panicked: AtomicBool,
}

impl Tasks<'_> {
    /// Runs tasks until all are taken: those of the part of this thread in order, then those that other threads have left.
    fn run_from(&self, thread: usize, threads: usize) {
        for part in (thread..threads).chain(0..thread) {
            let [start, end] = [part, part + 1].map(|part| part * self.count / threads);
            loop {
                let task = start + self.taken[part].fetch_add(1, SeqCst);
                if task >= end {
                    break;
                }
                if catch_unwind(AssertUnwindSafe(|| (self.run)(task))).is_err() {
                    self.has_panicked.store(true, SeqCst);
                }
            }
        }
    }
}

/// The threads of a text: its own, and helpers.
#[derive(Default)]
pub struct Team {
    /// The number of all.
    pub(crate) threads: usize,
    /// Whether a text is running, whose tasks the helpers look for.
    is_looking: AtomicBool,
    /// Whether the model has been dropped.
    is_over: AtomicBool,
    /// The tasks of the present kernel, or null.
    tasks: AtomicPtr<Tasks<'static>>,
    /// The helpers that use `tasks`.
    users: AtomicUsize,
}

impl Team {
    /// Returns the calling thread without helpers.
    pub fn alone() -> Self {
        Self { threads: 1, ..Self::default() }
    }

    /// Starts the helpers, fewer if the system refuses more.
    fn start(threads: usize) -> (Arc<Self>, Vec<Thread>) {
        let team = Arc::new(Self { threads, ..Self::default() });
        let start = |index| {
            let (team, name) = (team.clone(), format!("kp-text-{index}"));
            let helper = builder().name(name).spawn(move || team.help(index)).ok()?;
            Some(helper.thread().clone())
        };
        let helpers = (1..threads).map_while(start).collect();
        (team, helpers)
    }

    /// Calls `run` with each number below `count`, on all threads. Returns whether no call has panicked.
    pub(crate) fn for_each(&self, count: usize, run: impl Fn(usize) + Sync) -> bool {
        let (taken, has_panicked) = Default::default();
        let tasks = &Tasks { run: &run, count, taken, has_panicked };
        self.tasks.store(ptr::from_ref(tasks).cast_mut().cast(), SeqCst);
        tasks.run_from(0, self.threads);
        self.tasks.store(ptr::null_mut(), SeqCst);
        while self.users.load(SeqCst) > 0 {
            thread::yield_now();
        }
        !tasks.has_panicked.load(SeqCst)
    }

    fn help(&self, thread: usize) {
        while !self.is_over.load(SeqCst) {
            thread::park();
            while self.is_looking.load(SeqCst) {
                if !self.tasks.load(SeqCst).is_null() {
                    self.users.fetch_add(1, SeqCst);
                    // SAFETY: before the tasks end, `for_each` sets the pointer to null and waits until there are no users.
                    if let Some(tasks) = unsafe { self.tasks.load(SeqCst).as_ref() } {
                        tasks.run_from(thread, self.threads);
                    }
                    self.users.fetch_sub(1, SeqCst);
                }
                thread::yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Barrier, Weak},
        time::Duration,
    };

    use super::*;

    #[test]
    fn for_each_runs_each_task_once() {
        for threads in [1, 2, 3, 8].map(TextThreads::new) {
            for count in (0..20).cycle().take(1000) {
                let runs: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                let run = |task: usize| _ = runs[task].fetch_add(1, SeqCst);
                assert!(
                    threads.for_text(|team| team.for_each(count, run) && team.for_each(count, run))
                );
                assert!(runs.iter().all(|runs| runs.load(SeqCst) == 2), "{count} tasks: {runs:?}");
            }
        }
    }

    #[test]
    fn for_each_uses_all_threads_also_after_a_panic() {
        let (threads, all) = (TextThreads::new(3), Barrier::new(3));
        let run = |task: usize| {
            // Returns when each task is on another thread.
            all.wait();
            assert_ne!(task, 1, "on purpose");
        };
        for _ in 0..10 {
            assert!(!threads.for_text(|team| team.for_each(3, run)));
        }
    }

    #[test]
    fn threads_end_when_dropped() {
        let threads = TextThreads::new(3);
        threads.for_text(|team| assert!(team.for_each(10, |_| ())));
        let team: Weak<Team> = Arc::downgrade(&threads.helpers.get().unwrap().0);
        drop(threads);
        for _ in 0..10_000 {
            if team.strong_count() == 0 {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        panic!("{} threads are left", team.strong_count());
    }
}
