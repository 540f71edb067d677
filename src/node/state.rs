//! What one JavaScript environment owns: a scorer, and the way back to its promises.

use std::sync::Arc;

use napi::{Env, Error, Result};

use super::outbox::Outbox;
use crate::{
    embedder,
    scorer::{Scorer, monotonic_clock},
};

/// One for the main thread and for each worker, as each would have its own copy of a module.
pub struct EnvState {
    pub scorer: Arc<Scorer>,
    pub outbox: Arc<Outbox>,
}

impl EnvState {
    /// Makes the state of `env`, and sees to it that no work outlives the environment.
    pub fn install(env: &Env) -> Result<()> {
        embedder::disable_telemetry();
        let scorer = Scorer::new(monotonic_clock).map_err(super::report::thrown)?;
        let outbox = Outbox::new(env)?;
        env.add_env_cleanup_hook(scorer.clone(), |scorer| scorer.close())?;
        env.set_instance_data(Self { scorer, outbox }, (), |_| ())
    }

    /// The state of `env`.
    pub fn of(env: &Env) -> Result<&'static Self> {
        env.get_instance_data::<Self>()?
            .map(|state| &*state)
            .ok_or_else(|| Error::from_reason("the addon is not initialised in this environment"))
    }
}
