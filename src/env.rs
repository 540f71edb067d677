//! What one JavaScript environment owns: scorers, and the way back to its promises.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use knowledgepulse_embedder::disable_telemetry;
use knowledgepulse_scoring::Scorer;
use napi::{Env, Error, Result};

use crate::{bound::BoundScorer, outbox::Outbox};

/// One for the main thread and for each worker, as each would have its own copy of a module.
pub struct EnvState {
    /// The scorer behind `evaluateValue`.
    pub default: BoundScorer,
    pub outbox: Arc<Outbox>,
    /// The scorers of the environment, which must not outlive it.
    scorers: Arc<Mutex<Vec<Weak<Scorer>>>>,
}

fn close(scorers: &Mutex<Vec<Weak<Scorer>>>) {
    let all = std::mem::take(&mut *scorers.lock().unwrap_or_else(PoisonError::into_inner));
    all.iter().filter_map(Weak::upgrade).for_each(|scorer| scorer.close());
}

impl EnvState {
    /// Makes the state of `env`, and sees to it that no work outlives the environment.
    pub fn install(env: &Env) -> Result<()> {
        disable_telemetry();
        let default =
            BoundScorer::of_process().map_err(|error| Error::from_reason(error.to_string()))?;
        let outbox = Outbox::new(env)?;
        let scorers = Arc::new(Mutex::new(vec![Arc::downgrade(&default.scorer)]));
        env.add_env_cleanup_hook(scorers.clone(), |scorers| close(&scorers))?;
        env.set_instance_data(Self { default, outbox, scorers }, (), |_| ())
    }

    /// Returns the state of `env`.
    pub fn of(env: &Env) -> Result<&'static Self> {
        env.get_instance_data::<Self>()?
            .map(|state| &*state)
            .ok_or_else(|| Error::from_reason("the addon is not initialised in this environment"))
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
