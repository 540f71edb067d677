//! The Node.js addon: the only crate that knows JavaScript. It converts, delegates, and settles
//! promises.

#![expect(clippy::missing_errors_doc, reason = "index.d.ts documents what JavaScript sees")]

mod bound;
pub mod calibrate;
mod choice;
mod embedder;
mod env;
mod failure;
pub mod gathered;
mod logs;
mod options;
mod outbox;
mod scorer;
mod script;
mod settings;
mod status;
mod store;
mod suggest;
mod vector_cache;
mod view;
mod warning;

use std::fmt;

use knowledgepulse_scoring::{
    Score,
    scorer::{Report, Times},
    trace,
};
use napi::{
    Env, Result,
    bindgen_prelude::{Object, Unknown},
};
use napi_derive::napi;

use env::EnvState;
use failure::or_throw;
use scorer::Scorer;
use view::{JsView, Read};

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

/// The report, as JSON, for a trace whose novelty the caller knows.
#[napi(catch_unwind)]
pub fn score_with(env: &Env, trace: Unknown, novelty: Unknown, options: Unknown) -> Result<String> {
    let [trace, novelty, options] = [trace, novelty, options].map(|value| JsView::new(env, value));
    let score = || -> Read<_> {
        // Its text does not count.
        let trace = trace::read(&trace, &mut Full)?;
        let profiles = options::read_scoring_options(&options)?;
        let score = Score::of(&trace, options::read_novelty(&novelty)?, &profiles);
        Ok(Report { score, text: None, times: Times::default() })
    };
    let report = or_throw(env, score())?;
    serde_json::to_string(&report).map_err(|error| napi::Error::from_reason(error.to_string()))
}

/// Takes no text.
struct Full;

impl fmt::Write for Full {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Err(fmt::Error)
    }
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
