//! The Node.js addon: the only crate that knows JavaScript. It converts, delegates, and settles
//! promises.

#![expect(clippy::missing_errors_doc, reason = "the declarations document what JavaScript sees")]

pub mod calibrate;
mod env;
mod js;
mod logs;
mod model;
mod options;
#[expect(clippy::too_many_arguments, reason = "an object would have to be made for each call")]
mod scorer;
mod store;
mod vector_cache;

use knowledgepulse_scoring::{
    Score,
    scorer::{Report, Times},
};
use napi::{
    Env, Result,
    bindgen_prelude::{Object, Utf16String},
};
use napi_derive::napi;

use env::EnvState;
use js::{Value, or_throw};
use scorer::Scorer;

/// Prepares an environment (the main thread, or a worker) when it loads the addon.
#[napi(module_exports)]
pub fn init(_exports: Object, env: Env) -> Result<()> {
    EnvState::install(&env)
}

/// Sets the folder of the addon. Only the first call has an effect.
#[napi(catch_unwind)]
pub fn set_addon_folder(folder: String) {
    let _ = model::ADDON_FOLDER.set(folder.into());
}

/// Changes the settings in `options`; earlier calls keep theirs.
#[napi(catch_unwind)]
pub fn configure(options: Value) -> Result<()> {
    options::configure(&options)
}

/// Returns the names of the formats of logs, in the order of detection.
#[napi(catch_unwind)]
pub fn log_formats() -> Vec<&'static str> {
    knowledgepulse_import::format_names()
}

/// Formats a value for an error message.
#[napi(catch_unwind)]
pub fn describe(value: Value) -> String {
    value.describe()
}

/// Returns the report, as JSON, for a trace whose novelty the caller knows.
#[napi(catch_unwind)]
pub fn score_with(
    env: &Env,
    head: Utf16String,
    confidence: f64,
    novelty: Value,
    options: Value,
) -> Result<String> {
    let trace = or_throw(env, js::trace::trace(&head, confidence))?;
    let profiles = options::read_scoring_options(&options)?;
    let score = Score::of(&trace, options::read_novelty(&novelty)?, &profiles);
    js::to_json(&Report { score, text: None, times: Times::default() })
}

/// Returns the scorer behind `evaluateValue` in this environment.
#[napi(catch_unwind)]
pub fn default_scorer(env: &Env) -> Result<Scorer> {
    Ok(Scorer::of_process(EnvState::of(env)?.default.clone()))
}

/// Returns the `known` name that is nearest to `unknown`.
#[napi(catch_unwind)]
pub fn suggest(unknown: String, known: Vec<String>) -> Option<String> {
    js::suggest(&unknown, &known).map(Into::into)
}

/// Ends all work of this environment, so that the process may exit.
#[napi(catch_unwind)]
pub fn close(env: &Env) -> Result<()> {
    EnvState::of(env)?.scorers.close();
    Ok(())
}
