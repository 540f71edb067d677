//! The only module that knows JavaScript. It converts, delegates, and settles promises.

mod call;
mod location;
mod options;
mod outbox;
mod report;
mod scorer;
mod settings;
mod state;
mod status;
mod vector_cache;
mod view;

use napi::{
    Env, Result,
    bindgen_prelude::{Object, Unknown},
};
use napi_derive::napi;

use scorer::Scorer;
use state::EnvState;

/// Prepares an environment (the main thread, or a worker) when it loads the addon.
#[napi(module_exports)]
pub fn init(_exports: Object, env: Env) -> Result<()> {
    EnvState::install(&env)
}

#[napi(catch_unwind)]
pub fn configure(env: &Env, options: Unknown) -> Result<()> {
    settings::configure(env, options)
}

/// The scorer behind `evaluateValue` in this environment.
#[napi(catch_unwind)]
pub fn default_scorer(env: &Env) -> Result<Scorer> {
    Scorer::of_environment(env)
}

/// Ends all work of this environment; the process may exit when it returns.
#[napi(catch_unwind)]
pub fn close(env: &Env) -> Result<()> {
    EnvState::of(env)?.close();
    Ok(())
}
