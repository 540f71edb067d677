//! The worker threads of the process.

use std::{
    collections::VecDeque,
    io, mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, ScopedJoinHandle},
};

use once_cell::sync::OnceCell;

type Job = Box<dyn FnOnce() + Send>;

/// How often a thread without a job looks for one before it sleeps: waking it takes a system call of
/// whoever spawns the next.
const LOOKS: usize = 32;

static JOBS: Mutex<Jobs> = Mutex::new(Jobs { waiting: VecDeque::new(), sleepers: 0 });
static JOB_ADDED: Condvar = Condvar::new();

struct Jobs {
    /// Jobs that no thread has taken yet.
    waiting: VecDeque<Job>,
    /// Threads that sleep until there is a job.
    sleepers: usize,
}

/// Returns how many cores the process may use, at least 1. Affinity and container limits count.
pub fn available_cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Runs `job` on a worker thread. There is one for each core, started by the first call; jobs begin
/// in the order in which they were spawned. A job that panics ends alone.
///
/// Plain threads, and not those of a work-stealing pool: a thread that waits there takes up another
/// job meanwhile, which may wait for the one below it on the stack.
///
/// # Errors
///
/// The system gives no thread at all.
pub fn spawn(job: impl FnOnce() + Send + 'static) -> io::Result<()> {
    static STARTED: OnceCell<()> = OnceCell::new();
    STARTED.get_or_try_init(start)?;
    let mut jobs = lock_jobs();
    jobs.waiting.push_back(Box::new(job));
    if jobs.sleepers > 0 {
        JOB_ADDED.notify_one();
    }
    Ok(())
}

/// Returns whether a job waits for a thread, so that whoever has much to do should make room for it.
///
/// ```
/// assert!(!knowledgepulse_tasks::has_waiting());
/// ```
pub fn has_waiting() -> bool {
    !lock_jobs().waiting.is_empty()
}

fn start() -> io::Result<()> {
    let start_one =
        |index| thread::Builder::new().name(format!("kp-worker-{index}")).spawn(run).map(drop);
    start_one(0)?;
    // Fewer threads than cores are slower, and no reason to fail.
    let _ = (1..available_cores()).try_for_each(start_one);
    Ok(())
}

fn run() {
    loop {
        let _ = catch_unwind(AssertUnwindSafe(next_job()));
    }
}

fn next_job() -> Job {
    for _ in 0..LOOKS {
        if let Some(job) = lock_jobs().waiting.pop_front() {
            return job;
        }
        thread::yield_now();
    }
    let mut jobs = lock_jobs();
    loop {
        if let Some(job) = jobs.waiting.pop_front() {
            return job;
        }
        jobs.sleepers += 1;
        jobs = JOB_ADDED.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        jobs.sleepers -= 1;
    }
}

fn lock_jobs() -> MutexGuard<'static, Jobs> {
    JOBS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs both functions, side by side where the system gives a thread for that, else one after the
/// other. `Err` is what `other` has panicked with.
pub fn join<A: Send, B>(
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

/// Maps items in order, on up to as many threads as there are cores, each of which has `enough` of them or
/// more. Panics as `each` does.
///
/// ```
/// use knowledgepulse_tasks::map;
///
/// assert_eq!(map(vec![1, 2, 3], 1, |number| 2 * number), [2, 4, 6]);
/// ```
pub fn map<T: Send, R: Send>(items: Vec<T>, enough: usize, each: impl Fn(T) -> R + Sync) -> Vec<R> {
    // Finding out takes system calls.
    static CORES: OnceCell<usize> = OnceCell::new();
    let cores = *CORES.get_or_init(available_cores);
    map_on(cores.min(items.len() / enough.max(1)), items, &each)
}

fn map_on<T: Send, R: Send>(
    threads: usize,
    mut items: Vec<T>,
    each: &(impl Fn(T) -> R + Sync),
) -> Vec<R> {
    if threads < 2 {
        return items.into_iter().map(each).collect();
    }
    let others = Mutex::new(items.split_off(items.len() / 2));
    let take = || mem::take(&mut *others.lock().unwrap_or_else(PoisonError::into_inner));
    let (others, mut results) =
        join(|| map_on(threads / 2, take(), each), || map_on(threads - threads / 2, items, each));
    results.extend(others.unwrap_or_else(|panic| resume_unwind(panic)));
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_keeps_the_order_on_any_number_of_threads() {
        for threads in 0..9 {
            let found = map_on(threads, (0..100).collect(), &|number| number + 1);
            assert!(found.into_iter().eq(1..101), "{threads} threads");
        }
    }

    #[test]
    fn map_panics_as_its_function_does() {
        for odd in [0, 99] {
            let map = || map_on(4, (0..100).collect(), &|number: i32| assert!(number != odd));
            assert!(catch_unwind(map).is_err(), "{odd}");
        }
    }

    #[test]
    fn join_runs_both_and_reports_a_panic_of_the_other() {
        let (a, b) = join(|| 1, || 2);
        assert_eq!((a.ok(), b), (Some(1), 2));
        let (a, b) = join(|| panic!("on purpose"), || 2);
        let a: thread::Result<()> = a;
        assert_eq!((a.is_err(), b), (true, 2));
    }

    #[test]
    fn spawn_goes_on_after_a_job_that_panics() {
        let (sender, receiver) = std::sync::mpsc::channel();
        for index in 0..100 {
            let sender = sender.clone();
            let job = move || {
                assert!(index % 3 > 0, "on purpose");
                sender.send(index).unwrap();
            };
            spawn(job).unwrap();
        }
        drop(sender);
        let mut done: Vec<_> = receiver.iter().collect();
        done.sort_unstable();
        assert_eq!(done, (0..100).filter(|index| index % 3 > 0).collect::<Vec<_>>());
    }
}
