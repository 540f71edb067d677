//! Results from other threads on their way to promises of one environment.
//!
//! One thread-safe function serves all promises. It is called once for as many results as there are
//! by the time that JavaScript gets round to it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use knowledgepulse_scoring::{Error, Result};
use knowledgepulse_workers::fault;
use napi::{
    Env, Status,
    bindgen_prelude::{ToNapiValue, Unknown},
    check_status, sys,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use once_cell::sync::OnceCell;

use crate::failure::{self, forget_exception};

/// Wakes the JavaScript thread; weak, so that it alone does not keep the process alive.
type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

/// Makes the value that a promise resolves to, on the JavaScript thread.
type Answer = Box<dyn FnOnce(&Env) -> napi::Result<sys::napi_value> + Send>;

/// The settling end of a promise. Dropped, it rejects with `INTERNAL`.
pub struct Deferred {
    promise: Option<Promise>,
    outbox: Arc<Outbox>,
}

/// A promise that is not settled.
struct Promise {
    raw: sys::napi_deferred,
    keeps_alive: bool,
}

// SAFETY: other threads only carry the pointer; it is dereferenced by Node-API alone, on the thread of
// its environment, in `Posted::settle`.
unsafe impl Send for Promise {}

impl Deferred {
    /// Settles the promise, when JavaScript gets round to it: with what `answer` makes of the value, or
    /// with the error. On any thread.
    pub fn settle<T: Send + 'static, V: ToNapiValue>(
        mut self,
        result: Result<T>,
        answer: impl FnOnce(&Env, T) -> napi::Result<V> + Send + 'static,
    ) {
        let result = result.map(|value| -> Answer {
            Box::new(move |env| {
                let value = answer(env, value)?;
                // SAFETY: on the thread of the environment, within a call from JavaScript.
                unsafe { V::to_napi_value(env.raw(), value) }
            })
        });
        self.post(result);
    }

    fn post(&mut self, result: Result<Answer>) {
        if let Some(promise) = self.promise.take() {
            self.outbox.post(Posted { promise, result });
        }
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        self.post(Err(Error::internal("the work ended without a result")));
    }
}

struct Posted {
    promise: Promise,
    result: Result<Answer>,
}

impl Posted {
    /// Settles the promise, whatever happens on the way: a promise that is never settled is worse
    /// than any error.
    fn settle(self, env: &Env) -> napi::Result<()> {
        let answer = |answer: Answer| {
            fault::point("answer");
            answer(env)
        };
        let made = match self.result.map(|a| catch_unwind(AssertUnwindSafe(|| answer(a)))) {
            Ok(Ok(Ok(value))) => Ok(value),
            Ok(Ok(Err(_))) => Err(Error::internal("the answer could not be made")),
            Ok(Err(_)) => Err(Error::internal("making the answer panicked")),
            Err(error) => Err(error),
        };
        let (env_raw, raw) = (env.raw(), self.promise.raw);
        let status = match made {
            // SAFETY: on the thread of the environment, and once, as `self` leaves the outbox once.
            Ok(value) => unsafe { sys::napi_resolve_deferred(env_raw, raw, value) },
            Err(error) => {
                forget_exception(env);
                let reason = failure::value(env, error)?;
                // SAFETY: as above.
                unsafe { sys::napi_reject_deferred(env_raw, raw, reason) }
            }
        };
        check_status!(status)
    }
}

/// Results on their way to one environment.
pub struct Outbox {
    posted: Mutex<Vec<Posted>>,
    wake: OnceCell<Wake>,
    /// Promises to be settled that keep the event loop alive. Only the JavaScript thread changes it.
    expected: AtomicUsize,
}

impl Outbox {
    /// Returns the outbox of `env`.
    pub fn new(env: &Env) -> napi::Result<Arc<Self>> {
        let (posted, wake, expected) = Default::default();
        let outbox = Arc::new(Self { posted, wake, expected });
        // Weak, because the outbox holds the function.
        let weak = Arc::downgrade(&outbox);
        let deliver = env.create_function_from_closure("deliver", move |context| {
            weak.upgrade().map_or(Ok(()), |outbox| outbox.deliver(context.env))
        })?;
        let wake = deliver.build_threadsafe_function::<()>().weak::<true>().build()?;
        let _ = outbox.wake.set(wake);
        Ok(outbox)
    }

    /// Returns a pending promise, which keeps the event loop alive, and the means to settle it.
    pub fn promise<'env>(
        self: &Arc<Self>,
        env: &'env Env,
    ) -> napi::Result<(Unknown<'env>, Deferred)> {
        self.pending(env, true)
    }

    /// Returns a pending promise as [`Outbox::promise`] does, which does not keep the event loop alive.
    pub fn idle_promise<'env>(
        self: &Arc<Self>,
        env: &'env Env,
    ) -> napi::Result<(Unknown<'env>, Deferred)> {
        self.pending(env, false)
    }

    fn pending<'env>(
        self: &Arc<Self>,
        env: &'env Env,
        keeps_alive: bool,
    ) -> napi::Result<(Unknown<'env>, Deferred)> {
        let (mut raw, mut promise) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: `env` is the environment of the running call.
        check_status!(unsafe { sys::napi_create_promise(env.raw(), &mut raw, &mut promise) })?;
        if keeps_alive && self.expected.fetch_add(1, Ordering::Relaxed) == 0 {
            self.keep_alive(env, true);
        }
        // SAFETY: the handle was just made in this environment.
        let promise = unsafe { Unknown::from_raw_unchecked(env.raw(), promise) };
        let deferred =
            Deferred { promise: Some(Promise { raw, keeps_alive }), outbox: self.clone() };
        Ok((promise, deferred))
    }

    fn post(&self, item: Posted) {
        let mut posted = self.posted.lock().unwrap_or_else(PoisonError::into_inner);
        posted.push(item);
        if posted.len() == 1
            && let Some(wake) = self.wake.get()
        {
            wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    /// Settles the promises of all results that are there. On the JavaScript thread.
    fn deliver(&self, env: &Env) -> napi::Result<()> {
        let posted =
            std::mem::take(&mut *self.posted.lock().unwrap_or_else(PoisonError::into_inner));
        let expected = posted.iter().filter(|item| item.promise.keeps_alive).count();
        if self.expected.fetch_sub(expected, Ordering::Relaxed) == expected {
            self.keep_alive(env, false);
        }
        for item in posted {
            // One promise that cannot be settled, which only happens when JavaScript is being
            // stopped, must not take the others with it.
            if item.settle(env).is_err() {
                forget_exception(env);
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
