//! What one JavaScript environment owns: scorers, work in the background, and the outbox with results for its promises.
//!
//! One thread-safe function settles all promises. Each call of it settles all results posted so far.

use std::{
    cell::{Cell, OnceCell, RefCell},
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    ptr,
    rc::Rc,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use knowledgepulse_scoring::{
    Error, Result, Scorer,
    scorer::{Ledger, ScorerOptions},
};
use knowledgepulse_workers::{Lane, fault, lock};
use napi::{
    Env, Status,
    bindgen_prelude::{Function, FunctionRef, Object, ToNapiValue, Unknown},
    check_status, sys,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};

use crate::{
    js::{failure_value, forget_exception},
    settings::{Texts, texts_of},
};

/// The state of the main thread, or of a worker.
pub struct EnvState {
    /// The engine behind `evaluateValue`.
    pub default: Arc<Scorer>,
    /// The settings in its environment variables, once they are needed.
    variables: OnceCell<Texts>,
    outbox: Arc<Outbox>,
    /// The scorers of the environment, which must not outlive it.
    pub scorers: Arc<Scorers>,
    /// What JavaScript finds.
    pub find: RefCell<Option<Rc<FunctionRef<&'static str, Object<'static>>>>>,
    /// The memory of what JavaScript refers to. Any thread changes it.
    pub held: Ledger,
    /// The part that the garbage collector knows of: it would otherwise let scorers pile up.
    told: Cell<i64>,
}

/// Returns for `runtime` the `library` of ONNX Runtime, or the `reason` why there is none, and for `variables` the settings
/// in environment variables.
pub type Find<'env> = Function<'env, &'static str, Object<'static>>;

/// How long an ending environment waits for its work: the graph or tokenizer of a custom model may never end.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct Scorers(Mutex<Vec<Weak<Scorer>>>);

impl Scorers {
    /// Adds a scorer, which is closed with the environment.
    pub fn add(&self, scorer: &Arc<Scorer>) {
        let mut all = lock(&self.0);
        all.retain(|scorer| scorer.strong_count() > 0);
        all.push(Arc::downgrade(scorer));
    }

    /// Closes all, and waits until none is at work.
    pub fn close(&self) {
        let all = mem::take(&mut *lock(&self.0));
        let all: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|scorer| scorer.close());
        let deadline = Instant::now() + PATIENCE;
        for scorer in all {
            scorer.wait_until_idle(deadline);
        }
    }
}

impl EnvState {
    /// Makes the state of `env`, with a hook that ends its work before the environment ends.
    pub fn install(env: &Env) -> napi::Result<()> {
        let (held, told) = <(Ledger, _)>::default();
        let default =
            Scorer::new(ScorerOptions { ledger: held.clone(), ..ScorerOptions::default() });
        let outbox = Outbox::new(env)?;
        let scorers = Arc::<Scorers>::default();
        scorers.add(&default);
        env.add_env_cleanup_hook(scorers.clone(), |scorers| scorers.close())?;
        let (variables, find) = (OnceCell::new(), RefCell::default());
        let state = Self { default, variables, outbox, scorers, find, held, told };
        env.set_instance_data(state, (), |_| ())
    }

    pub fn variables(env: &Env) -> napi::Result<&'static Texts> {
        let state = Self::of(env)?;
        let read = || match state.found(env, "variables") {
            Ok(found) => texts_of(&found),
            Err(_) => {
                forget_exception(env);
                Texts::new()
            }
        };
        Ok(state.variables.get_or_init(read))
    }

    fn found(&self, env: &Env, what: &'static str) -> napi::Result<Object<'static>> {
        let find = self.find.borrow().clone();
        let find = find.ok_or_else(|| napi::Error::from_reason("nothing looks for it"))?;
        find.borrow_back(env)?.call(what)
    }

    /// Returns the ONNX Runtime library that JavaScript finds, or why there is none.
    pub fn find_library(env: &Env) -> Result<PathBuf, String> {
        let found = || {
            let found = Self::of(env)?.found(env, "runtime")?;
            let reason = found.get("reason")?.unwrap_or_default();
            Ok(found.get::<String>("library")?.map_or(Err(reason), |library| Ok(library.into())))
        };
        found().unwrap_or_else(|error: napi::Error| {
            forget_exception(env);
            Err(error.reason.clone())
        })
    }

    /// Tells the garbage collector how much memory is held now.
    pub fn tell_memory(&self, env: &Env) -> napi::Result<()> {
        let held = self.held.load(Ordering::Relaxed);
        match held - self.told.replace(held) {
            0 => Ok(()),
            change => env.adjust_external_memory(change).map(drop),
        }
    }

    pub fn of(env: &Env) -> napi::Result<&'static Self> {
        env.get_instance_data::<Self>()?.map(|state| &*state).ok_or_else(|| {
            napi::Error::from_reason("the addon is not initialised in this environment")
        })
    }
}

/// Runs `work` on a thread of a lane, then `done` with its result.
pub fn spawn<T>(
    lane: &'static Lane,
    work: impl FnOnce() -> Result<T> + Send + 'static,
    done: impl FnOnce(Result<T>) + Send + 'static,
) {
    match lane.threads() {
        Ok(threads) => threads.spawn(move || {
            let work = || {
                fault::point("background");
                work()
            };
            let panicked = |_| Err(Error::internal("work in the background panicked"));
            done(catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked));
        }),
        Err(error) => done(Err(Error::no_threads(error))),
    }
}

/// Runs `work` on a thread of a lane. The promise resolves to the result.
pub fn in_background<'env, T: ToNapiValue + Send + 'static>(
    lane: &'static Lane,
    env: &'env Env,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> napi::Result<Unknown<'env>> {
    let (promise, mut deferred) = Outbox::promise(env, true)?;
    spawn(lane, work, move |result| deferred.settle(result, |_, value| Ok(value)));
    Ok(promise)
}

/// Wakes the JavaScript thread; weak, so that it alone does not keep the process alive.
type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

/// Makes the value of a promise, on the JavaScript thread.
type Answer = Box<dyn FnOnce(&Env) -> napi::Result<sys::napi_value> + Send>;

/// Settles a promise from any thread. Dropping it rejects the promise with `INTERNAL`.
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
    /// Posts the result to the JavaScript thread, which settles the promise with `answer` of the value, or
    /// with the error. Only the first time.
    pub fn settle<T: Send + 'static, V: ToNapiValue>(
        &mut self,
        result: Result<T>,
        answer: impl FnOnce(&Env, T) -> napi::Result<V> + Send + 'static,
    ) {
        let Some(promise) = self.promise.take() else { return };
        let result = result.map(|value| -> Answer {
            Box::new(move |env| {
                let value = answer(env, value)?;
                // SAFETY: on the thread of the environment, within a call from JavaScript.
                unsafe { V::to_napi_value(env.raw(), value) }
            })
        });
        let mut posted = lock(&self.outbox.posted);
        posted.push(Posted { promise, result });
        if posted.len() == 1 {
            self.outbox.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        self.settle(Err(Error::internal("the work ended without a result")), |_, ()| Ok(()));
    }
}

struct Posted {
    promise: Promise,
    result: Result<Answer>,
}

impl Posted {
    /// Settles the promise; rejects with `INTERNAL` if the answer fails.
    fn settle(self, env: &Env) -> napi::Result<()> {
        let made = self.result.and_then(|answer| {
            let make = || {
                fault::point("answer");
                answer(env)
            };
            catch_unwind(AssertUnwindSafe(make))
                .map_err(|_| Error::internal("making the answer panicked"))?
                .map_err(|_| Error::internal("the answer could not be made"))
        });
        let (env_raw, raw) = (env.raw(), self.promise.raw);
        let status = match made {
            // SAFETY: on the thread of the environment, and once, as `self` leaves the outbox once.
            Ok(value) => unsafe { sys::napi_resolve_deferred(env_raw, raw, value) },
            Err(error) => {
                forget_exception(env);
                let reason = failure_value(env, error)?;
                // SAFETY: as above.
                unsafe { sys::napi_reject_deferred(env_raw, raw, reason) }
            }
        };
        check_status!(status)
    }
}

/// Results on their way to the promises of one environment.
pub struct Outbox {
    posted: Mutex<Vec<Posted>>,
    wake: Wake,
    /// How many pending promises keep the event loop alive. Only the JavaScript thread changes it.
    expected: AtomicUsize,
}

impl Outbox {
    pub fn new(env: &Env) -> napi::Result<Arc<Self>> {
        let deliver = env.create_function_from_closure("deliver", |context| {
            let state = EnvState::of(context.env)?;
            state.outbox.deliver(context.env)?;
            state.tell_memory(context.env)
        })?;
        let wake = deliver.build_threadsafe_function::<()>().weak::<true>().build()?;
        Ok(Arc::new(Self { posted: Mutex::default(), wake, expected: AtomicUsize::new(0) }))
    }

    /// Returns a pending promise, which may keep the event loop alive until it is settled.
    pub fn promise(env: &Env, keeps_alive: bool) -> napi::Result<(Unknown<'_>, Deferred)> {
        let outbox = &EnvState::of(env)?.outbox;
        let (mut raw, mut promise) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: `env` is the environment of the running call.
        check_status!(unsafe { sys::napi_create_promise(env.raw(), &mut raw, &mut promise) })?;
        if keeps_alive && outbox.expected.fetch_add(1, Ordering::Relaxed) == 0 {
            outbox.keep_alive(env, true);
        }
        // SAFETY: the handle was just made in this environment.
        let promise = unsafe { Unknown::from_raw_unchecked(env.raw(), promise) };
        let pending = Some(Promise { raw, keeps_alive });
        Ok((promise, Deferred { promise: pending, outbox: outbox.clone() }))
    }

    /// Settles the promises of all posted results, on the JavaScript thread.
    fn deliver(&self, env: &Env) -> napi::Result<()> {
        let posted = mem::take(&mut *lock(&self.posted));
        let expected = posted.iter().filter(|item| item.promise.keeps_alive).count();
        if self.expected.fetch_sub(expected, Ordering::Relaxed) == expected {
            self.keep_alive(env, false);
        }
        for item in posted {
            // A promise cannot be settled while JavaScript is being stopped; the others still are.
            if item.settle(env).is_err() {
                forget_exception(env);
            }
        }
        Ok(())
    }

    fn keep_alive(&self, env: &Env, alive: bool) {
        if self.wake.aborted() {
            return;
        }
        let count = match alive {
            true => sys::napi_ref_threadsafe_function,
            false => sys::napi_unref_threadsafe_function,
        };
        // SAFETY: the function is not aborted, and this is the thread of its environment, which
        // is the only one that can abort it. The status can only tell of a wrong pointer.
        unsafe { count(env.raw(), self.wake.raw()) };
    }
}
