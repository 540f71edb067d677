//! Cancellation of work whose result is no longer needed.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use crate::lock;

/// Ends an operation that does not check the token itself.
type Interrupt = Box<dyn Fn() + Send>;

/// Cancels work from another thread. Clones share one state.
///
/// ```
/// use knowledgepulse_workers::CancelToken;
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
    /// Cancels current and later work with this token.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        if let Some(interrupt) = &*lock(&self.0.interrupt) {
            interrupt();
        }
    }

    /// Returns whether [`CancelToken::cancel`] has been called.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Runs `work`; a cancellation calls `interrupt` to end it. Returns `None` without running `work` if the
    /// token is cancelled already.
    pub fn interruptible<R>(
        &self,
        interrupt: impl Fn() + Send + 'static,
        work: impl FnOnce() -> R,
    ) -> Option<R> {
        *lock(&self.0.interrupt) = Some(Box::new(interrupt));
        // Checked after `interrupt` is set, so that no cancellation is missed between the two.
        let result = (!self.is_cancelled()).then(work);
        *lock(&self.0.interrupt) = None;
        result
    }
}
