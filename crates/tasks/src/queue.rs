//! One thread for long work.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Sender, channel},
    thread,
};

use once_cell::sync::OnceCell;

type Job = Box<dyn FnOnce() + Send>;

/// Runs `job` after those that were enqueued before, on a thread that the first call starts. Long work is
/// done there, which on the threads of [`spawn`](crate::spawn) would hold up short work. A job that panics
/// ends alone.
///
/// # Errors
///
/// The system gives no thread.
pub fn enqueue(job: impl FnOnce() + Send + 'static) -> io::Result<()> {
    static JOBS: OnceCell<Sender<Job>> = OnceCell::new();
    let jobs = JOBS.get_or_try_init(|| {
        let (sender, receiver) = channel::<Job>();
        let run = move || {
            for job in receiver {
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
        };
        thread::Builder::new().name("kp-queue".into()).spawn(run).map(|_| sender)
    })?;
    jobs.send(Box::new(job)).map_err(|_| io::Error::other("the thread has ended"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enqueue_runs_jobs_in_order_and_goes_on_after_a_panic() {
        let (sender, receiver) = channel();
        for index in 0..100 {
            let sender = sender.clone();
            let job = move || {
                assert!(index % 3 > 0, "on purpose");
                sender.send(index).unwrap();
            };
            enqueue(job).unwrap();
        }
        drop(sender);
        assert!(receiver.iter().eq((0..100).filter(|index| index % 3 > 0)));
    }
}
