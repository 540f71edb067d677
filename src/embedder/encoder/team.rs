//! The threads that work on one text together.
//!
//! Not those of a pool like rayon's: a thread that waits there takes up another text meanwhile, and
//! if that is the same text it waits for itself.

#[cfg(test)]
mod tests;

use std::{
    hint,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        PoisonError, RwLock, TryLockError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use crate::fault;

/// A thread that waits looks so often before it lets others have the core.
const SPINS: usize = 2000;

/// What a thread of the team does: tasks, until there are none left.
type Work<'a> = &'a (dyn Fn() + Sync);

/// A caller and its helpers, who take tasks side by side.
#[derive(Default)]
pub struct Team {
    has_helpers: bool,
    /// A helper holds this for reading while it works, and whoever changes it, for writing.
    work: RwLock<Option<Work<'static>>>,
    /// Counts the works, so that helpers see a new one without touching the lock.
    works: AtomicUsize,
    over: AtomicBool,
}

/// A task has panicked.
#[derive(Debug)]
pub struct TaskPanicked;

impl Team {
    /// Calls `lead` with a team of so many `threads`, that of the caller included; of fewer where the
    /// system does not give them.
    pub fn with<R>(threads: usize, lead: impl FnOnce(&Self) -> R) -> R {
        let team = &Self { has_helpers: threads > 1, ..Self::default() };
        thread::scope(|scope| {
            let _end = OnDrop(|| team.over.store(true, Ordering::Release));
            for index in 1..threads {
                let helper = thread::Builder::new().name(format!("kp-text-{index}"));
                if helper.spawn_scoped(scope, || team.help()).is_err() {
                    break;
                }
            }
            lead(team)
        })
    }

    /// Does the tasks below `count`, each once, on all threads; returns when all are done.
    ///
    /// # Errors
    ///
    /// A task has panicked. The others are done all the same.
    pub fn run(&self, count: usize, task: impl Fn(usize) + Sync) -> Result<(), TaskPanicked> {
        let (next, panicked) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return;
                }
                let task = || {
                    fault::point("task");
                    task(index)
                };
                if catch_unwind(AssertUnwindSafe(task)).is_err() {
                    panicked.store(true, Ordering::Relaxed);
                }
            }
        };
        if self.has_helpers && count > 1 {
            self.share(&work);
        } else {
            work();
        }
        if panicked.into_inner() { Err(TaskPanicked) } else { Ok(()) }
    }

    /// Does `work` on the thread of the caller and on those of all helpers that are free by then.
    fn share(&self, work: Work<'_>) {
        // SAFETY: only the lifetime is changed. `taken_back` is dropped before this returns or
        // unwinds, and so before `work` ends: it waits for every helper that is at work, and leaves
        // nothing for others to find.
        let work = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(work) };
        let taken_back = OnDrop(|| self.put(None));
        self.put(Some(work));
        self.works.fetch_add(1, Ordering::Release);
        work();
        drop(taken_back);
    }

    /// Puts `work` in the place of the one before, when no helper is at that any more.
    fn put(&self, work: Option<Work<'static>>) {
        let mut wait = Wait::default();
        loop {
            match self.work.try_write() {
                Ok(mut place) => return *place = work,
                // No thread panics while it holds the lock for writing.
                Err(TryLockError::Poisoned(place)) => return *place.into_inner() = work,
                Err(TryLockError::WouldBlock) => wait.a_little(),
            }
        }
    }

    /// What a helper does until the text is done.
    fn help(&self) {
        let (mut seen, mut wait) = (0, Wait::default());
        while !self.over.load(Ordering::Acquire) {
            let works = self.works.load(Ordering::Acquire);
            if works == seen {
                wait.a_little();
                continue;
            }
            (seen, wait) = (works, Wait::default());
            let work = self.work.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(work) = *work {
                work();
            }
        }
    }
}

#[derive(Default)]
struct Wait {
    spins: usize,
}

impl Wait {
    fn a_little(&mut self) {
        if self.spins < SPINS {
            self.spins += 1;
            hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

/// Calls a function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
