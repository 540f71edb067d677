//! One scoring call: read the trace, hand it to the scorer, return a promise.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::{Env, Result, bindgen_prelude::Unknown};

use super::{
    outbox::Promise,
    report,
    settings::current_embedder,
    state::EnvState,
    view::{JsView, Thrown},
};
use crate::{
    error::Error,
    trace::{self, ReadError, Trace},
};

/// What the promise resolves to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The score.
    Number,
    /// The score with its account.
    Report,
}

/// Scores `value`; whatever goes wrong from here on rejects the promise.
pub fn submit<'env>(env: &'env Env, value: Unknown<'env>, answer: Answer) -> Result<Unknown<'env>> {
    let state = EnvState::of(env)?;
    let (promise, deferred) = Promise::new(env)?;
    let read = catch_unwind(AssertUnwindSafe(|| trace::read(&JsView::new(env, value))));
    let refused = match read {
        Ok(Ok(trace)) => match start(env, state, trace, deferred, answer) {
            Ok(()) => return Ok(promise),
            Err(error) => report::error(env, &error)?,
        },
        Ok(Err(ReadError::Invalid(error))) => report::error(env, &error)?,
        // The caller's own error, thrown by a getter or a proxy, stays what it is.
        Ok(Err(ReadError::Fault(Thrown(thrown)))) => thrown,
        Err(_) => report::error(env, &Error::internal("reading the trace panicked"))?,
    };
    deferred.reject(env, refused)?;
    Ok(promise)
}

fn start(
    env: &Env,
    state: &'static EnvState,
    trace: Trace,
    deferred: Promise,
    answer: Answer,
) -> crate::error::Result<()> {
    let embedder = current_embedder()?;
    let outbox = state.outbox.clone();
    let reply = Box::new(move |result| outbox.post(deferred, answer, result));
    state.scorer.submit(trace, embedder, reply)?;
    state.outbox.expect_one(env);
    Ok(())
}
