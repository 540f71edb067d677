//! The Node.js addon: the only crate that knows JavaScript. It converts, delegates, and settles promises.

#![expect(clippy::missing_errors_doc, reason = "the declarations document what JavaScript sees")]

pub mod calibrate;
mod env;
mod file_lock;
mod js;
mod logs;
mod model;
mod options;
#[expect(clippy::too_many_arguments, reason = "an object would have to be made for each call")]
mod scorer;
mod settings;
mod store;
mod vector_cache;

use knowledgepulse_scoring::{
    Novelty, Score,
    cache::Nearest,
    scorer::{Report, Times},
};
use knowledgepulse_workers::available_cores;
use napi::{Env, Result, bindgen_prelude::Object};
use napi_derive::napi;

use env::{EnvState, Find};
use options::{Profile, profiles};
use scorer::NativeScorer;

/// Prepares an environment (the main thread, or a worker) when it loads the addon.
#[napi(module_exports)]
pub fn init(_exports: Object, env: Env) -> Result<()> {
    EnvState::install(&env)
}

/// Changes the settings that are given; earlier calls keep theirs.
#[napi(catch_unwind)]
pub fn configure(settings: Object) {
    settings::configure(settings::texts_of(&settings));
}

/// Returns the greatest number of threads of a scorer.
#[napi(catch_unwind)]
pub fn cores() -> u32 {
    available_cores() as u32
}

/// Returns the names of the formats of logs, in the order of detection.
#[napi(catch_unwind)]
pub fn log_formats() -> Vec<&'static str> {
    knowledgepulse_import::format_names()
}

/// Returns the report, as JSON, for a trace whose novelty the caller knows.
#[napi(catch_unwind)]
pub fn score_with(
    head: js::trace::Head,
    similarity: Option<f64>,
    nearest: Option<String>,
    weights: Option<Vec<Profile>>,
) -> Result<String> {
    let id = nearest.map(Into::into);
    let novelty = Novelty::Given(similarity.map(|similarity| Nearest { similarity, id }));
    let score = Score::of(&js::trace::trace(head), novelty, &profiles(weights));
    js::to_json(&Report { score, text: None, times: Times::default(), is_known: false })
}

/// Returns the scorer behind `evaluateValue` in this environment, in which `find` is called from now on.
#[napi(catch_unwind)]
pub fn default_scorer(env: &Env, find: Find) -> Result<NativeScorer> {
    EnvState::of(env)?.find.replace(Some(find.create_ref()?.into()));
    Ok(NativeScorer { engine: EnvState::of(env)?.default.clone(), embedder: None })
}

/// Ends all work of this environment, so that the process may exit.
#[napi(catch_unwind)]
pub fn close(env: &Env) -> Result<()> {
    EnvState::of(env)?.scorers.close();
    Ok(())
}
