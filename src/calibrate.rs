//! Calibration on its way to JavaScript, as JSON.

use knowledgepulse_calibrate::{
    Calibration, Error, Options, Result as CalibrateResult, Row, calibrate as calibrate_rows,
    report::{self, Context},
};
use napi::{
    Env, Result,
    bindgen_prelude::{Uint8Array, Unknown},
};
use napi_derive::napi;
use serde_json::json;

use crate::{env::in_queue, failure::or_throw, options::read_scoring_options, view::JsView};

/// Resolves to `{ value }`, a calibration, or `{ error }`, as JSON. `rows` are lines of JSON, `options` is
/// JSON, `profiles` those of `scoreWith`.
#[napi(catch_unwind)]
pub fn calibrate<'env>(
    env: &'env Env,
    rows: Uint8Array,
    options: String,
    profiles: Unknown,
) -> Result<Unknown<'env>> {
    let profiles = or_throw(env, read_scoring_options(&JsView::new(env, profiles)))?;
    let rows = rows.to_vec();
    in_queue(env, move || {
        Ok(answer(|| {
            let options = Options { profiles, ..Options::from_json(&options)? };
            let calibration = calibrate_rows(&read_rows(&rows)?, &options)?;
            Ok(serde_json::to_value(calibration).unwrap_or_default())
        }))
    })
}

/// Resolves to `{ value }`, the report as HTML, or `{ error }`, as JSON. `calibration` is that of the
/// `rows`, and `context` is JSON as well.
#[napi(catch_unwind)]
pub fn calibration_report<'env>(
    env: &'env Env,
    calibration: String,
    rows: Uint8Array,
    context: String,
) -> Result<Unknown<'env>> {
    let rows = rows.to_vec();
    in_queue(env, move || {
        Ok(answer(|| {
            let context = Context::from_json(&context)?;
            let calibration = Calibration::from_json(&calibration)?;
            Ok(report::html(&calibration, &read_rows(&rows)?, &context).into())
        }))
    })
}

fn read_rows(lines: &[u8]) -> CalibrateResult<Vec<Row>> {
    Row::from_json_lines(&String::from_utf8_lossy(lines))
}

fn answer(make: impl FnOnce() -> CalibrateResult<serde_json::Value>) -> String {
    match make() {
        Ok(value) => json!({ "value": value }),
        Err(error) => json!({ "error": describe(&error) }),
    }
    .to_string()
}

fn describe(error: &Error) -> serde_json::Value {
    let row = error.row().map(|row| format!("rows[{}]", row - 1));
    let mut place: Vec<&str> = row.as_deref().into_iter().chain(error.path()).collect();
    if place.is_empty() {
        place.push("rows");
    }
    let path = place.join(".");
    let message = format!("{path}: expected {}, got {}", error.expected(), error.found());
    json!({ "code": error.code(), "path": path, "message": message })
}
