//! Traces from JavaScript, and errors to it.

pub mod trace;

use std::ptr;

use knowledgepulse_scoring::{Error, trace::quote};
use napi::{
    Env, Result, Status,
    bindgen_prelude::{JavaScriptClassExt, ToNapiValue, Unknown},
    sys,
};
use napi_derive::napi;

/// Returns JSON for JavaScript to parse, so that setters on prototypes do not run, and the objects belong to
/// the caller's realm.
pub fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| napi::Error::from_reason(error.to_string()))
}

/// An error of the addon, thrown or as a rejection. `lib/errors.js` converts it to an `Error` in the caller's
/// realm. Exceptions of the caller's own code stay as they are.
#[napi]
pub struct Failure {
    error: Error,
}

#[napi]
impl Failure {
    /// Returns whether `value` is one. `instanceof` fails where another module has loaded the addon since.
    #[napi]
    pub fn is(env: &Env, value: Unknown) -> Result<bool> {
        Self::instance_of(env, &value)
    }

    #[napi(getter)]
    pub fn code(&self) -> &'static str {
        self.error.code()
    }

    #[napi(getter)]
    pub fn message(&self) -> String {
        self.error.to_string()
    }

    #[napi(getter)]
    pub fn path(&self) -> Option<&str> {
        self.error.path()
    }
}

pub fn failure_value(env: &Env, error: Error) -> Result<sys::napi_value> {
    // SAFETY: on the thread of the environment, within a call from JavaScript.
    unsafe { Failure::to_napi_value(env.raw(), Failure { error }) }
}

/// Throws the error from the running function as a [`Failure`], and returns an error to leave the function with.
pub fn thrown(env: &Env, error: Error) -> napi::Error {
    match failure_value(env, error) {
        Ok(value) => {
            // SAFETY: the handle belongs to the running call.
            unsafe { sys::napi_throw(env.raw(), value) };
            napi::Error::from_status(Status::PendingException)
        }
        Err(error) => error,
    }
}

/// Returns the value, or throws the error.
pub fn or_throw<T>(env: &Env, result: std::result::Result<T, Error>) -> Result<T> {
    result.map_err(|error| thrown(env, error))
}

/// Formats a text for an error message; of what may contain a password only the beginning: `"postgres://…"`.
#[napi(catch_unwind)]
pub fn shown(mut text: String) -> String {
    let ends = ["://", "password="].map(|mark| Some(text.find(mark)? + mark.len()));
    if let Some(end) = ends.into_iter().flatten().min() {
        text.truncate(end);
        text.push('…');
    }
    quote(&text)
}

/// Clears a pending exception of a failed call.
pub fn forget_exception(env: &Env) {
    let mut thrown = ptr::null_mut();
    // SAFETY: on the thread of the environment, within a call from JavaScript.
    unsafe { sys::napi_get_and_clear_last_exception(env.raw(), &mut thrown) };
}
