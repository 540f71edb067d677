//! Calibration, and its report.

use knowledgepulse_calibrate::{
    Calibration, Error as CalibrateError, Options, Result as CalibrateResult, Row, calibrate_until,
    report::{self, Context},
};
use knowledgepulse_scoring::{Error, Invalid};
use knowledgepulse_workers::LONG;
use napi::{
    Env, Result,
    bindgen_prelude::{Uint8Array, Unknown},
};
use napi_derive::napi;
use serde_json::json;

use crate::{
    env::in_background,
    js::{Value, or_throw},
    options::read_scoring_options,
    scorer::Handle,
};

/// Resolves to the calibration as JSON. `rows` are lines of JSON, `options` is JSON, and `profiles` are those of
/// `scoreWith`. `handle` can abort it.
#[napi(catch_unwind)]
pub fn calibrate<'env>(
    env: &'env Env,
    rows: Uint8Array,
    options: String,
    profiles: Value,
    handle: &Handle,
) -> Result<Unknown<'env>> {
    let profiles = or_throw(env, read_scoring_options(&profiles))?;
    let (rows, cancel) = (rows.to_vec(), handle.cancel.clone());
    let calibrate = move || {
        let options = Options { profiles, ..Options::from_json(&options)? };
        calibrate_until(&cancel, &read_rows(&rows)?, &options)
    };
    let calibration = move || {
        let calibration = calibrate().map_err(error_of)?.ok_or_else(Error::aborted)?;
        Ok(json!(calibration).to_string())
    };
    in_background(&LONG, env, calibration, |_, json| Ok(json))
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
    let read = move || {
        let context = Context::from_json(&context)?;
        Ok((Calibration::from_json(&calibration)?, read_rows(&rows)?, context))
    };
    let report = move || {
        let (calibration, rows, context) = read().map_err(error_of)?;
        report::html(&calibration, &rows, &context).map_err(Error::internal)
    };
    in_background(&LONG, env, report, |_, html| Ok(html))
}

fn read_rows(lines: &[u8]) -> CalibrateResult<Vec<Row>> {
    Row::from_json_lines(&String::from_utf8_lossy(lines))
}

fn error_of(error: CalibrateError) -> Error {
    let row = error.row().map(|row| format!("rows[{}]", row - 1));
    let mut place: Vec<&str> = row.as_deref().into_iter().chain(error.path()).collect();
    if place.is_empty() {
        place.push("rows");
    }
    let input = Invalid::Rows(error.code());
    Error::invalid(input, place.join("."), error.expected(), error.found())
}
