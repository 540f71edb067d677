//! The way back: results from the threads of the pool to promises on the JavaScript thread.
//!
//! One thread-safe function serves all promises of an environment. It is called once for as many
//! results as have come in by the time that JavaScript gets round to it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use napi::{
    Env, Result, Status,
    bindgen_prelude::Unknown,
    check_status, sys,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use once_cell::sync::OnceCell;

use super::{call::Answer, report};
use crate::{error, fault, scorer::Outcome};

/// Wakes the JavaScript thread; weak, so that it alone does not keep the process alive.
type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

/// The settling end of a promise. It is only ever used up on the thread that made it.
#[derive(Clone, Copy)]
pub struct Promise(sys::napi_deferred);

// SAFETY: other threads only carry the pointer; it is dereferenced by Node-API alone, on the
// thread of its environment, in `resolve` and `reject`, which take that thread's `Env`.
unsafe impl Send for Promise {}

impl Promise {
    /// A pending promise, and the means to settle it.
    pub fn new(env: &Env) -> Result<(Unknown<'_>, Self)> {
        let (mut deferred, mut promise) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: `env` is the environment of the running call.
        check_status!(unsafe { sys::napi_create_promise(env.raw(), &mut deferred, &mut promise) })?;
        // SAFETY: the handle was just made in this environment.
        Ok((unsafe { Unknown::from_raw_unchecked(env.raw(), promise) }, Self(deferred)))
    }

    fn resolve(self, env: &Env, value: sys::napi_value) -> Result<()> {
        // SAFETY: on the thread of the environment, and once, as `self` leaves the outbox once.
        check_status!(unsafe { sys::napi_resolve_deferred(env.raw(), self.0, value) })
    }

    /// Rejects the promise.
    pub fn reject(self, env: &Env, reason: sys::napi_value) -> Result<()> {
        // SAFETY: as for `resolve`.
        check_status!(unsafe { sys::napi_reject_deferred(env.raw(), self.0, reason) })
    }
}

struct Posted {
    promise: Promise,
    answer: Answer,
    result: error::Result<Outcome>,
}

impl Posted {
    /// Settles the promise, whatever happens on the way: one that never does is worse than any error.
    fn settle(self, env: &Env) -> Result<()> {
        match catch_unwind(AssertUnwindSafe(|| self.value(env))) {
            Ok(Ok(Ok(value))) => self.promise.resolve(env, value),
            Ok(Ok(Err(reason))) => self.promise.reject(env, reason),
            Ok(Err(_)) => self.fail(env, "the answer could not be made"),
            Err(_) => self.fail(env, "making the answer panicked"),
        }
    }

    /// What the promise resolves to, or rejects with.
    fn value(&self, env: &Env) -> Result<std::result::Result<sys::napi_value, sys::napi_value>> {
        fault::point("answer");
        Ok(match &self.result {
            Ok(outcome) => {
                report::warn_without_embedder(env, outcome);
                Ok(report::answer(env, outcome, &self.answer)?)
            }
            Err(error) => Err(report::error(env, error)?),
        })
    }

    fn fail(&self, env: &Env, what: &str) -> Result<()> {
        report::forget_exception(env);
        self.promise.reject(env, report::error(env, &error::Error::internal(what))?)
    }
}

/// Results on their way to one environment.
pub struct Outbox {
    posted: Mutex<Vec<Posted>>,
    wake: OnceCell<Wake>,
    /// Promises that are still to be settled. Only the JavaScript thread changes it.
    expected: AtomicUsize,
}

impl Outbox {
    /// The outbox of `env`.
    pub fn new(env: &Env) -> Result<Arc<Self>> {
        let outbox = Arc::new(Self {
            posted: Mutex::default(),
            wake: OnceCell::new(),
            expected: AtomicUsize::new(0),
        });
        // Weak, because the outbox holds the function.
        let weak = Arc::downgrade(&outbox);
        let deliver = env.create_function_from_closure("deliver", move |context| {
            weak.upgrade().map_or(Ok(()), |outbox| outbox.deliver(context.env))
        })?;
        let wake = deliver.build_threadsafe_function::<()>().weak::<true>().build()?;
        let _ = outbox.wake.set(wake);
        Ok(outbox)
    }

    /// Keeps the event loop alive for one more promise. On the JavaScript thread.
    pub fn expect_one(&self, env: &Env) {
        if self.expected.fetch_add(1, Ordering::Relaxed) == 0 {
            self.keep_alive(env, true);
        }
    }

    /// Hands over a result. On any thread.
    pub fn post(&self, promise: Promise, answer: Answer, result: error::Result<Outcome>) {
        let mut posted = self.posted.lock().unwrap_or_else(PoisonError::into_inner);
        posted.push(Posted { promise, answer, result });
        if posted.len() == 1
            && let Some(wake) = self.wake.get()
        {
            wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    /// Settles the promises of all results that are there. On the JavaScript thread.
    fn deliver(&self, env: &Env) -> Result<()> {
        let posted =
            std::mem::take(&mut *self.posted.lock().unwrap_or_else(PoisonError::into_inner));
        if self.expected.fetch_sub(posted.len(), Ordering::Relaxed) == posted.len() {
            self.keep_alive(env, false);
        }
        for item in posted {
            // One promise that cannot be settled, which only happens when JavaScript is being
            // stopped, must not take the others with it.
            if item.settle(env).is_err() {
                report::forget_exception(env);
            }
        }
        Ok(())
    }

    fn keep_alive(&self, env: &Env, alive: bool) {
        let Some(wake) = self.wake.get().filter(|wake| !wake.aborted()) else { return };
        // SAFETY: the function is not aborted, and this is the thread of its environment, which
        // is the only one that can abort it. The status can only tell of a wrong pointer.
        unsafe {
            let raw = wake.raw();
            if alive {
                sys::napi_ref_threadsafe_function(env.raw(), raw);
            } else {
                sys::napi_unref_threadsafe_function(env.raw(), raw);
            }
        }
    }
}
