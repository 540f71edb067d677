//! Calibration for JavaScript, as JSON.

use knowledgepulse_calibrate::{
    Calibration, Error as CalibrateError, Options, Result as CalibrateResult, Row, calibrate_until,
    report::{self, Context},
};
use knowledgepulse_scoring::Error;
use knowledgepulse_workers::LONG;
use napi::{
    Env, Result,
    bindgen_prelude::{Uint8Array, Unknown},
};
use napi_derive::napi;
use serde_json::{Value, json};

use crate::{
    env::in_background,
    js::{Value as JsValue, or_throw},
    options::read_scoring_options,
    scorer::Handle,
};

/// Resolves to the calibration as `{ value }`, or to `{ error }`, in JSON. `rows` are lines of JSON,
/// `options` is JSON, and `profiles` are those of `scoreWith`. `handle` can abort it.
#[napi(catch_unwind)]
pub fn calibrate<'env>(
    env: &'env Env,
    rows: Uint8Array,
    options: String,
    profiles: JsValue,
    handle: &Handle,
) -> Result<Unknown<'env>> {
    let profiles = or_throw(env, read_scoring_options(&profiles))?;
    let (rows, cancel) = (rows.to_vec(), handle.cancel.clone());
    answer(env, move || {
        let options = Options { profiles, ..Options::from_json(&options)? };
        let calibration = calibrate_until(&cancel, &read_rows(&rows)?, &options)?;
        Ok(calibration.map(|found| json!(found)).ok_or_else(Error::aborted))
    })
}

/// Resolves to the report in HTML as `{ value }`, or to `{ error }`, in JSON. `calibration` is the
/// calibration of `rows` in JSON, and `context` is JSON as well.
#[napi(catch_unwind)]
pub fn calibration_report<'env>(
    env: &'env Env,
    calibration: String,
    rows: Uint8Array,
    context: String,
) -> Result<Unknown<'env>> {
    let rows = rows.to_vec();
    answer(env, move || {
        let context = Context::from_json(&context)?;
        let calibration = Calibration::from_json(&calibration)?;
        let html = report::html(&calibration, &read_rows(&rows)?, &context);
        Ok(html.map(Value::from).map_err(Error::internal))
    })
}

fn read_rows(lines: &[u8]) -> CalibrateResult<Vec<Row>> {
    Row::from_json_lines(&String::from_utf8_lossy(lines))
}

/// Runs `work` in the background. Errors of the input are part of the answer; others reject.
fn answer<'env>(
    env: &'env Env,
    work: impl FnOnce() -> CalibrateResult<knowledgepulse_scoring::Result<Value>> + Send + 'static,
) -> Result<Unknown<'env>> {
    let answer = || {
        let answer = match work() {
            Ok(value) => json!({ "value": value? }),
            Err(error) => json!({ "error": describe(&error) }),
        };
        Ok(answer.to_string())
    };
    in_background(&LONG, env, answer, |_, json| Ok(json))
}

fn describe(error: &CalibrateError) -> Value {
    let row = error.row().map(|row| format!("rows[{}]", row - 1));
    let mut place: Vec<&str> = row.as_deref().into_iter().chain(error.path()).collect();
    if place.is_empty() {
        place.push("rows");
    }
    let path = place.join(".");
    let message = format!("{path}: expected {}, got {}", error.expected(), error.found());
    json!({ "code": error.code(), "path": path, "message": message })
}
