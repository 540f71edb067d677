//! What one JavaScript environment owns: scorers, work in the background, and the way back to its promises.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, Weak, mpsc::channel},
    thread,
    time::Duration,
};

use knowledgepulse_embedder::disable_telemetry;
use knowledgepulse_scoring::{Error, Scorer};
use knowledgepulse_workers::{LONG, Lane, WORKERS, fault};
use napi::{
    Env, Result,
    bindgen_prelude::{ToNapiValue, Unknown},
};

use crate::{bound::BoundScorer, outbox::Outbox};

/// One for the main thread and for each worker, as each would have its own copy of a module.
pub struct EnvState {
    /// The scorer behind `evaluateValue`.
    pub default: BoundScorer,
    pub outbox: Arc<Outbox>,
    /// The scorers of the environment, which must not outlive it.
    scorers: Arc<Mutex<Vec<Weak<Scorer>>>>,
}

/// How long an environment that ends waits for its work: the graph or the tokenizer of a user's own model may
/// never end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Closes scorers, all at once: one that does not end must not hold up the others.
fn close(scorers: &Mutex<Vec<Weak<Scorer>>>) {
    let all = std::mem::take(&mut *scorers.lock().unwrap_or_else(PoisonError::into_inner));
    let (closing, closed) = channel::<()>();
    for scorer in all.iter().filter_map(Weak::upgrade) {
        let (here, closing) = (scorer.clone(), closing.clone());
        let close = move || {
            scorer.close();
            drop(closing);
        };
        if thread::Builder::new().spawn(close).is_err() {
            here.close();
        }
    }
    drop(closing);
    // Nothing is ever sent: it ends when the last scorer is closed.
    let _ = closed.recv_timeout(PATIENCE);
}

impl EnvState {
    /// Makes the state of `env`, and sees to it that no work outlives the environment.
    pub fn install(env: &Env) -> Result<()> {
        disable_telemetry();
        let default = BoundScorer::of_process()
            .map_err(|error| napi::Error::from_reason(error.to_string()))?;
        let outbox = Outbox::new(env)?;
        let scorers = Arc::new(Mutex::new(vec![Arc::downgrade(&default.scorer)]));
        env.add_env_cleanup_hook(scorers.clone(), |scorers| close(&scorers))?;
        env.set_instance_data(Self { default, outbox, scorers }, (), |_| ())
    }

    /// Returns the state of `env`.
    pub fn of(env: &Env) -> Result<&'static Self> {
        env.get_instance_data::<Self>()?.map(|state| &*state).ok_or_else(|| {
            napi::Error::from_reason("the addon is not initialised in this environment")
        })
    }

    /// Takes a further scorer in.
    pub fn adopt(&self, scorer: &Arc<Scorer>) {
        let mut all = self.scorers.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|scorer| scorer.strong_count() > 0);
        all.push(Arc::downgrade(scorer));
    }

    /// Ends the work of all scorers.
    pub fn close(&self) {
        close(&self.scorers);
    }
}

/// Does `work` on a worker thread; the promise resolves to what `answer` makes of the result.
pub fn in_background<'env, T: Send + 'static, V: ToNapiValue>(
    env: &'env Env,
    work: impl FnOnce() -> knowledgepulse_scoring::Result<T> + Send + 'static,
    answer: impl FnOnce(&Env, T) -> Result<V> + Send + 'static,
) -> Result<Unknown<'env>> {
    on(&WORKERS, env, work, answer)
}

/// Does work that takes seconds, one after another; the promise resolves to the result.
pub fn at_length<'env, T: Send + ToNapiValue + 'static>(
    env: &'env Env,
    work: impl FnOnce() -> knowledgepulse_scoring::Result<T> + Send + 'static,
) -> Result<Unknown<'env>> {
    on(&LONG, env, work, |_, result| Ok(result))
}

fn on<'env, T: Send + 'static, V: ToNapiValue>(
    lane: &'static Lane,
    env: &'env Env,
    work: impl FnOnce() -> knowledgepulse_scoring::Result<T> + Send + 'static,
    answer: impl FnOnce(&Env, T) -> Result<V> + Send + 'static,
) -> Result<Unknown<'env>> {
    let (promise, deferred) = EnvState::of(env)?.outbox.promise(env)?;
    match lane.threads() {
        Ok(threads) => threads.spawn(move || {
            let work = || {
                fault::point("background");
                work()
            };
            let panicked = |_| Err(Error::internal("work in the background panicked"));
            let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked);
            deferred.settle(result, answer);
        }),
        Err(error) => deferred.settle(Err(Error::no_threads(error)), answer),
    }
    Ok(promise)
}
