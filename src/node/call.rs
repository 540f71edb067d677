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
    scorer::{Detail, Reply},
    trace::{self, ReadError, Trace},
};

/// What the promise resolves to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The score.
    Number,
    /// The score with its account.
    Report,
    /// The status, once the embedder is warm.
    Status,
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
    let detail = if answer == Answer::Number { Detail::Value } else { Detail::Account };
    state.scorer.submit(trace, embedder, detail, reply(state, deferred, answer))?;
    state.outbox.expect_one(env);
    Ok(())
}

/// Loads the embedder and uses it once.
pub fn warm_up(env: &Env) -> Result<Unknown<'_>> {
    let state = EnvState::of(env)?;
    let (promise, deferred) = Promise::new(env)?;
    let started = current_embedder().and_then(|embedder| {
        state.scorer.warm_up(embedder, reply(state, deferred, Answer::Status))
    });
    match started {
        Ok(()) => state.outbox.expect_one(env),
        Err(error) => deferred.reject(env, report::error(env, &error)?)?,
    }
    Ok(promise)
}

fn reply(state: &EnvState, deferred: Promise, answer: Answer) -> Reply {
    let outbox = state.outbox.clone();
    Box::new(move |result| outbox.post(deferred, answer, result))
}
