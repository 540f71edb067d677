//! Calibration, and its report.

use knowledgepulse_calibrate::{Calibration, Options, Row, read_json};
use knowledgepulse_report::{Context, runs::Page};
use knowledgepulse_scoring::Invalid;
use knowledgepulse_workers::LONG;
use napi::{
    Env, Result,
    bindgen_prelude::{Uint8Array, Unknown},
};
use napi_derive::napi;
use serde_json::json;

use crate::{
    env::in_background,
    options::{Profile, profiles},
    scorer::Handle,
};

/// Resolves to the calibration as JSON. `rows` are lines of JSON, `options` is JSON, and `weights` are those of
/// `scoreWith`. `handle` can abort it.
#[napi(catch_unwind)]
pub fn calibrate<'env>(
    env: &'env Env,
    rows: Uint8Array,
    options: String,
    weights: Option<Vec<Profile>>,
    handle: &Handle,
) -> Result<Unknown<'env>> {
    let profiles = profiles(weights);
    let (rows, cancel) = (rows.to_vec(), handle.cancel.clone());
    let calibrate = move || {
        let options = Options { profiles, ..read_json(&options, Invalid::Option, "")? };
        let rows = Row::from_json_lines(&String::from_utf8_lossy(&rows))?;
        let calibration = knowledgepulse_calibrate::calibrate(&rows, &options, &cancel)?;
        Ok(json!(calibration).to_string())
    };
    in_background(&LONG, env, calibrate)
}

/// Resolves to the report in HTML. `calibration` is the calibration of `rows` in JSON, and `context` is JSON as well.
#[napi(catch_unwind)]
pub fn calibration_report<'env>(
    env: &'env Env,
    calibration: String,
    rows: Uint8Array,
    context: String,
) -> Result<Unknown<'env>> {
    let rows = rows.to_vec();
    let report = move || {
        let context: Context = read_json(&context, Invalid::Option, "")?;
        let calibration: Calibration = read_json(&calibration, Invalid::Option, "calibration")?;
        let rows = Row::from_json_lines(&String::from_utf8_lossy(&rows))?;
        knowledgepulse_report::html(&calibration, &rows, &context)
    };
    in_background(&LONG, env, report)
}

/// Resolves to the page of runs in HTML. `page` is JSON.
#[napi(catch_unwind)]
pub fn runs_page(env: &Env, page: String) -> Result<Unknown<'_>> {
    let render = move || read_json::<Page>(&page, Invalid::Option, "page")?.html();
    in_background(&LONG, env, render)
}
