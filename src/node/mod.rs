//! The only module that knows JavaScript. It converts, delegates, and settles promises.

mod call;
mod location;
mod outbox;
mod report;
mod settings;
mod state;
mod vector_cache;
mod view;

use napi::{
    Env, Result,
    bindgen_prelude::{Object, Unknown},
};
use napi_derive::napi;

use report::Status;
use state::EnvState;
use vector_cache::VectorCache;

/// Prepares an environment (the main thread, or a worker) when it loads the addon.
#[napi(module_exports)]
pub fn init(_exports: Object, env: Env) -> Result<()> {
    EnvState::install(&env)
}

#[napi(catch_unwind)]
pub fn evaluate_value<'env>(env: &'env Env, trace: Unknown<'env>) -> Result<Unknown<'env>> {
    call::submit(env, trace, call::Answer::Number)
}

#[napi(catch_unwind)]
pub fn explain_value<'env>(env: &'env Env, trace: Unknown<'env>) -> Result<Unknown<'env>> {
    call::submit(env, trace, call::Answer::Report)
}

#[napi(catch_unwind)]
pub fn warmup(env: &Env) -> Result<Unknown<'_>> {
    call::warm_up(env)
}

#[napi(catch_unwind)]
pub fn configure(env: &Env, options: Unknown) -> Result<()> {
    settings::configure(env, options)
}

#[napi(catch_unwind)]
pub fn status(env: &Env) -> Result<Status> {
    Status::of(env, EnvState::of(env)?)
}

/// The cache behind `evaluateValue` in this environment.
#[napi(catch_unwind)]
pub fn local_cache(env: &Env) -> Result<VectorCache> {
    Ok(VectorCache::of(EnvState::of(env)?.scorer.clone()))
}

/// Ends all work of this environment; the process may exit when it returns.
#[napi(catch_unwind)]
pub fn close(env: &Env) -> Result<()> {
    EnvState::of(env)?.scorer.close();
    Ok(())
}
