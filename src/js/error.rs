//! Errors on their way to JavaScript.

use std::ptr;

use knowledgepulse_scoring::Error;
use napi::{
    Env, Result, Status,
    bindgen_prelude::{JavaScriptClassExt, ToNapiValue, Unknown},
    sys,
};
use napi_derive::napi;

use super::ReadError;

/// An error of the addon, thrown or as a rejection. `lib/errors.js` converts it to an `Error` in the caller's
/// realm. Exceptions of the caller's own code stay as they are.
#[napi]
pub struct Failure {
    error: Error,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error }
    }
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
    unsafe { Failure::to_napi_value(env.raw(), error.into()) }
}

/// Returns the value, or throws the error from the running function: as a [`Failure`], or unchanged if the
/// caller's code threw it.
pub fn or_throw<T, E: Into<ReadError>>(env: &Env, result: std::result::Result<T, E>) -> Result<T> {
    result.or_else(|error| {
        let thrown = match error.into() {
            ReadError::Invalid(error) => failure_value(env, error)?,
            ReadError::Thrown(thrown) => thrown,
        };
        // SAFETY: the handle belongs to the running call.
        unsafe { sys::napi_throw(env.raw(), thrown) };
        Err(napi::Error::from_status(Status::PendingException))
    })
}

/// Clears a pending exception of a failed call.
pub fn forget_exception(env: &Env) {
    let mut thrown = ptr::null_mut();
    // SAFETY: on the thread of the environment, within a call from JavaScript.
    unsafe { sys::napi_get_and_clear_last_exception(env.raw(), &mut thrown) };
}
