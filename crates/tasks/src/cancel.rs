//! Cancellation of work that nobody waits for any more.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// What ends an operation that does not look at the token itself.
type Interrupt = Box<dyn Fn() + Send>;

/// Cancels work from another thread. Clones share one state.
///
/// ```
/// use knowledgepulse_tasks::CancelToken;
///
/// let cancel = CancelToken::default();
/// assert_eq!(cancel.interruptible(|| (), || 1), Some(1));
/// cancel.cancel();
/// assert_eq!(cancel.interruptible(|| (), || 1), None);
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<State>);

#[derive(Default)]
struct State {
    cancelled: AtomicBool,
    interrupt: Mutex<Option<Interrupt>>,
}

impl CancelToken {
    /// Cancels the work that holds this token, and any that would begin with it.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        if let Some(interrupt) = &*self.interrupt() {
            interrupt();
        }
    }

    /// Returns whether [`CancelToken::cancel`] has been called.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Runs `work`, which a cancellation ends by calling `interrupt`. Returns `None`, without running
    /// it, after a cancellation.
    pub fn interruptible<R>(
        &self,
        interrupt: impl Fn() + Send + 'static,
        work: impl FnOnce() -> R,
    ) -> Option<R> {
        *self.interrupt() = Some(Box::new(interrupt));
        // Looked at after the line above, so that no cancellation falls between the two.
        let result = (!self.is_cancelled()).then(work);
        *self.interrupt() = None;
        result
    }

    fn interrupt(&self) -> MutexGuard<'_, Option<Interrupt>> {
        self.0.interrupt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
