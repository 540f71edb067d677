//! The Node.js addon: the only crate that knows JavaScript. It converts, delegates, and settles
//! promises.

#![expect(clippy::missing_errors_doc, reason = "index.d.ts documents what JavaScript sees")]

mod bound;
mod choice;
mod embedder;
mod env;
mod failure;
mod options;
mod outbox;
mod scorer;
mod settings;
mod status;
mod suggest;
mod vector_cache;
mod view;
mod warning;

use napi::{
    Env, Result,
    bindgen_prelude::{Object, Unknown},
};
use napi_derive::napi;

use env::EnvState;
use failure::or_throw;
use scorer::Scorer;
use view::JsView;

/// Prepares an environment (the main thread, or a worker) when it loads the addon.
#[napi(module_exports)]
pub fn init(_exports: Object, env: Env) -> Result<()> {
    EnvState::install(&env)
}

/// Tells where the addon is; the first call counts.
#[napi(catch_unwind)]
pub fn set_addon_folder(folder: String) {
    let _ = settings::ADDON_FOLDER.set(folder.into());
}

/// Changes the settings named in `options`; calls made before keep what they had.
#[napi(catch_unwind)]
pub fn configure(env: &Env, options: Unknown) -> Result<()> {
    let changes = or_throw(env, options::read_embedder_options(&JsView::new(env, options)))?;
    or_throw(env, settings::configure(&changes))
}

/// The scorer behind `evaluateValue` in this environment.
#[napi(catch_unwind)]
pub fn default_scorer(env: &Env) -> Result<Scorer> {
    Scorer::of_environment(env)
}

/// The one of the `known` names that `unknown` most likely stands for.
#[napi(catch_unwind)]
pub fn suggest(unknown: String, known: Vec<String>) -> Option<String> {
    suggest::suggest(&unknown, &known).map(Into::into)
}

/// Ends all work of this environment; the process may exit when it returns.
#[napi(catch_unwind)]
pub fn close(env: &Env) -> Result<()> {
    EnvState::of(env)?.close();
    Ok(())
}
