//! The threads of a model.
//!
//! The thread that embeds a text is one of them. The others, its helpers, sleep between texts. During a text they look for
//! tasks without sleeping, because waking a thread takes longer than many of the tasks.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, Thread},
};

use knowledgepulse_workers::builder;
use once_cell::sync::OnceCell;

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

    /// Runs `work` with the number of threads that kernels can use: all if no other window is running, else only the
    /// calling one.
    pub fn for_text<R>(&self, work: impl FnOnce(usize) -> R) -> R {
        let is_alone = self.running.fetch_add(1, SeqCst) == 0;
        let _running = OnDrop(|| _ = self.running.fetch_sub(1, SeqCst));
        if !is_alone || self.count < 2 {
            return work(1);
        }
        let (team, helpers) = self.helpers.get_or_init(|| Team::start(self.count));
        team.is_looking.store(true, SeqCst);
        helpers.iter().for_each(Thread::unpark);
        TEAM.set(Some(team.clone()));
        let _over = OnDrop(|| {
            TEAM.set(None);
            team.is_looking.store(false, SeqCst);
        });
        work(helpers.len() + 1)
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

thread_local! {
    /// The helpers of the text of this thread.
    static TEAM: Cell<Option<Arc<Team>>> = const { Cell::new(None) };
}

/// Calls `run` with each number below `count`, on all threads of the text. Returns whether no call has panicked.
pub fn for_each(count: usize, run: impl Fn(usize) + Sync) -> bool {
    let tasks = Tasks { run: &run, count, taken: Default::default(), has_panicked: false.into() };
    // A kernel within a task has no helpers: these have one kernel at a time.
    match TEAM.take() {
        Some(team) => {
            team.run_all(&tasks);
            TEAM.set(Some(team));
        }
        None => tasks.run_from(0, 1),
    }
    !tasks.has_panicked.into_inner()
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

/// What a text shares with its helpers.
#[derive(Default)]
struct Team {
    /// The number of helpers, and the thread of the text.
    threads: usize,
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

    /// Runs tasks on this thread and on the helpers.
    fn run_all(&self, tasks: &Tasks) {
        self.tasks.store(ptr::from_ref(tasks).cast_mut().cast(), SeqCst);
        tasks.run_from(0, self.threads);
        self.tasks.store(ptr::null_mut(), SeqCst);
        while self.users.load(SeqCst) > 0 {
            thread::yield_now();
        }
    }

    fn help(&self, thread: usize) {
        while !self.is_over.load(SeqCst) {
            thread::park();
            while self.is_looking.load(SeqCst) {
                if !self.tasks.load(SeqCst).is_null() {
                    self.users.fetch_add(1, SeqCst);
                    // SAFETY: before the tasks end, `run_all` sets the pointer to null and waits until there are no users.
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
                assert!(threads.for_text(|_| for_each(count, run) && for_each(count, run)));
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
            assert!(!threads.for_text(|_| for_each(3, run)));
        }
    }

    #[test]
    fn for_each_within_a_task_runs_on_its_thread() {
        let inner = |_| {
            let thread = thread::current().id();
            assert!(for_each(10, |_| assert_eq!(thread::current().id(), thread)));
        };
        assert!(TextThreads::new(2).for_text(|_| for_each(10, inner)));
    }

    #[test]
    fn threads_end_when_dropped() {
        let threads = TextThreads::new(3);
        threads.for_text(|_| assert!(for_each(10, |_| ())));
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
