//! The end of work that nobody waits for any more.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use ort::session::{NoSelectedOutputs, RunOptions};

/// Ends runs from another thread, between two operations of the graph.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Cancel>);

#[derive(Default)]
struct Cancel {
    cancelled: AtomicBool,
    running: Mutex<Option<Arc<RunOptions<NoSelectedOutputs>>>>,
}

impl CancelToken {
    /// Ends the run that holds this token, and any that would begin with it.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        if let Some(options) = &*self.running() {
            // The only failure is a null pointer, which it is not.
            let _ = options.terminate();
        }
    }

    /// Whether [`CancelToken::cancel`] has been called.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// The options of the run that holds this token, if there is one.
    pub fn running(&self) -> MutexGuard<'_, Option<Arc<RunOptions<NoSelectedOutputs>>>> {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
