//! What one JavaScript environment owns: scorers, and the way back to its promises.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use napi::{Env, Error, Result};

use super::{outbox::Outbox, scorer::Owned};
use crate::{embedder, scorer::Scorer};

/// One for the main thread and for each worker, as each would have its own copy of a module.
pub struct EnvState {
    /// The scorer behind `evaluateValue`.
    pub default: Owned,
    pub outbox: Arc<Outbox>,
    scorers: Arc<Scorers>,
}

/// The scorers of an environment, which must not outlive it.
#[derive(Default)]
struct Scorers(Mutex<Vec<Weak<Scorer>>>);

impl Scorers {
    fn add(&self, scorer: &Arc<Scorer>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|scorer| scorer.strong_count() > 0);
        all.push(Arc::downgrade(scorer));
    }

    fn close(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for scorer in all.iter().filter_map(Weak::upgrade) {
            scorer.close();
        }
    }
}

impl EnvState {
    /// Makes the state of `env`, and sees to it that no work outlives the environment.
    pub fn install(env: &Env) -> Result<()> {
        embedder::disable_telemetry();
        let default = Owned::default_of_environment().map_err(super::report::thrown)?;
        let outbox = Outbox::new(env)?;
        let scorers = Arc::<Scorers>::default();
        scorers.add(&default.scorer);
        env.add_env_cleanup_hook(scorers.clone(), |scorers| scorers.close())?;
        env.set_instance_data(Self { default, outbox, scorers }, (), |_| ())
    }

    /// The state of `env`.
    pub fn of(env: &Env) -> Result<&'static Self> {
        env.get_instance_data::<Self>()?
            .map(|state| &*state)
            .ok_or_else(|| Error::from_reason("the addon is not initialised in this environment"))
    }

    /// Takes a further scorer in.
    pub fn adopt(&self, scorer: &Arc<Scorer>) {
        self.scorers.add(scorer);
    }

    /// Ends the work of all scorers.
    pub fn close(&self) {
        self.scorers.close();
    }
}
