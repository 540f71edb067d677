//! The worker threads of the process, in lanes.

use std::{
    collections::VecDeque,
    io, iter,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Mutex,
    thread::{self, ScopedJoinHandle, Thread},
};

use once_cell::sync::OnceCell;

use crate::{fault, lock};

/// Work for a thread.
type Job = Box<dyn FnOnce() + Send>;

/// How often an idle thread checks for a job before it sleeps. Waking it costs the spawning thread a system call.
const LOOKS: usize = 32;

/// The niceness of work that leaves the cores to scores and to the event loop when there are too few.
const BACKGROUND: i32 = 10;

/// Short work, such as scores. One thread for each core.
pub static WORKERS: Lane = Lane::new("kp-worker", available_cores, 0);

/// Loads of models into ONNX Runtime, which take seconds. Half of the cores are left to scores.
pub static LOADS: Lane = Lane::new("kp-load", || available_cores().div_ceil(2), 0);

/// Logs, piece by piece. A piece may end a line of 256 MiB, so scores never wait for it.
pub static IMPORTS: Lane = Lane::new("kp-import", available_cores, BACKGROUND);

/// Work that takes seconds, such as a calibration, on one thread.
pub static LONG: Lane = Lane::new("kp-long", || 1, BACKGROUND);

/// Selections, step by step, each on two threads.
pub static SELECTIONS: Lane = Lane::new("kp-select", || 1, BACKGROUND);

/// Threads for one kind of work.
///
/// Not a work-stealing pool, in which a thread that waits runs another job meanwhile: that job could wait for the one that it
/// interrupted, which would be a deadlock.
pub struct Lane {
    name: &'static str,
    count: fn() -> usize,
    /// What is added to the nice value of the threads. Linux alone has one for each thread.
    niceness: i32,
    started: OnceCell<Threads>,
    jobs: Mutex<Jobs>,
}

struct Jobs {
    /// Jobs that no thread has taken yet.
    waiting: VecDeque<Job>,
    /// Threads that sleep until there is a job. The last is woken first: its memory is in the caches of its core.
    sleepers: Vec<Thread>,
}

/// The running threads of a lane, at least one.
#[derive(Clone, Copy)]
pub struct Threads(&'static Lane);

/// Returns the number of cores that the process may use, at least 1. Respects affinity and container limits.
pub fn available_cores() -> usize {
    // Once, because the system tells it in several files.
    static CORES: OnceCell<usize> = OnceCell::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

impl Lane {
    const fn new(name: &'static str, count: fn() -> usize, niceness: i32) -> Self {
        let jobs = Mutex::new(Jobs { waiting: VecDeque::new(), sleepers: Vec::new() });
        Self { name, count, niceness, started: OnceCell::new(), jobs }
    }

    /// Returns the threads. The first call starts them.
    ///
    /// # Errors
    ///
    /// The system refuses to start even one thread.
    pub fn threads(&'static self) -> io::Result<Threads> {
        let start = |index| {
            fault::error("thread")?;
            let name = format!("{}-{index}", self.name);
            builder().name(name).spawn(|| self.run()).map(drop)
        };
        let started = self.started.get_or_try_init(|| {
            // First, because a thread inherits the nice value of the one that starts it, which may be of this lane.
            if self.niceness > 0 {
                WORKERS.threads()?;
            }
            start(0)?;
            // With fewer threads than wanted, work is slower but does not fail.
            let _ = (1..(self.count)()).try_for_each(start);
            Ok(Threads(self))
        });
        started.copied()
    }

    fn run(&self) {
        // Work goes on at the usual priority where a sandbox refuses the call.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::nice(self.niceness);
        let mut looks = 0;
        loop {
            let mut jobs = lock(&self.jobs);
            if let Some(job) = jobs.waiting.pop_front() {
                drop(jobs);
                let _ = catch_unwind(AssertUnwindSafe(job));
                looks = 0;
            } else if looks < LOOKS {
                drop(jobs);
                thread::yield_now();
                looks += 1;
            } else {
                let thread = thread::current();
                jobs.sleepers.push(thread.clone());
                drop(jobs);
                thread::park();
                // `park` may also return when nobody has woken the thread.
                lock(&self.jobs).sleepers.retain(|sleeper| sleeper.id() != thread.id());
            }
        }
    }
}

impl Threads {
    /// Returns whether a job is waiting for a thread. A long job should then spawn its remaining work as another job
    /// and end.
    ///
    /// ```
    /// let threads = knowledgepulse_workers::WORKERS.threads().unwrap();
    /// assert!(!threads.has_waiting());
    /// ```
    pub fn has_waiting(self) -> bool {
        !lock(&self.0.jobs).waiting.is_empty()
    }

    /// Runs `job` on one of the threads. Jobs begin in the order in which they were spawned. A job that panics
    /// does not end its thread.
    #[cfg(not(feature = "shuttle"))]
    pub fn spawn(self, job: impl FnOnce() + Send + 'static) {
        let mut jobs = lock(&self.0.jobs);
        jobs.waiting.push_back(Box::new(job));
        let sleeper = jobs.sleepers.pop();
        drop(jobs);
        if let Some(sleeper) = sleeper {
            sleeper.unpark();
        }
    }

    /// Runs `job` on a new thread, which the scheduler of the test starts.
    #[cfg(feature = "shuttle")]
    pub fn spawn(self, job: impl FnOnce() + Send + 'static) {
        let run = || drop(catch_unwind(AssertUnwindSafe(job)));
        shuttle::thread::Builder::new().name(self.0.name.into()).spawn(run).expect("a thread");
    }
}

/// Returns a builder of a thread with a stack of the usual size. That of `RUST_MIN_STACK` may be too small for our work,
/// which would end the process.
pub fn builder() -> thread::Builder {
    thread::Builder::new().stack_size(2 << 20)
}

/// Runs both functions: concurrently, or one after the other if the system refuses to start a thread.
///
/// # Panics
///
/// If one of them does.
pub fn run_both<A: Send, B>(other: impl Fn() -> A + Sync, here: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let spawned = builder().spawn_scoped(scope, &other);
        let here = here();
        let join = |other: ScopedJoinHandle<_>| other.join().unwrap_or_else(|it| resume_unwind(it));
        (spawned.map_or_else(|_| other(), join), here)
    })
}

/// Does `work` for each of the parts, on this thread and on another of the same priority, until one of them fails.
///
/// # Errors
///
/// The failure of a part; the others may not have been done.
pub fn share_out<P: Send, E: Send>(
    parts: impl Iterator<Item = P> + Send,
    work: impl Fn(P) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let is_one = matches!(parts.size_hint(), (_, Some(0 | 1)));
    let parts = Mutex::new(parts);
    let take = || lock(&parts).next();
    let run = || iter::from_fn(take).try_for_each(&work);
    if is_one {
        return run();
    }
    let (other, here) = run_both(run, run);
    other.and(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_both_runs_both_and_panics_if_the_other_does() {
        assert_eq!(run_both(|| 1, || 2), (1, 2));
        let mut is_done = false;
        let both = || run_both(|| panic!("on purpose"), || is_done = true);
        assert!(catch_unwind(AssertUnwindSafe(both)).is_err());
        assert!(is_done);
    }

    /// Spawns a hundred jobs, every third of which panics, and returns those that finished.
    fn done_on(lane: &'static Lane) -> Vec<i32> {
        let (sender, receiver) = std::sync::mpsc::channel();
        for index in 0..100 {
            let sender = sender.clone();
            let job = move || {
                assert!(index % 3 > 0, "on purpose");
                sender.send(index).unwrap();
            };
            lane.threads().unwrap().spawn(job);
        }
        drop(sender);
        receiver.iter().collect()
    }

    #[test]
    fn spawn_goes_on_after_a_job_that_panics() {
        let expected: Vec<_> = (0..100).filter(|index| index % 3 > 0).collect();
        let mut done = done_on(&WORKERS);
        done.sort_unstable();
        assert_eq!(done, expected);
        assert_eq!(done_on(&LONG), expected, "in order, on a single thread");
    }

    #[test]
    fn spawn_runs_short_jobs_while_long_work_is_not_done() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        LONG.threads().unwrap().spawn(move || {
            let _ = ended.recv();
        });
        assert_eq!(done_on(&WORKERS).len(), 66);
        drop(end);
    }
}
