//! One call: read the trace, hand it to the scorer, return a promise.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use napi::{Env, Result, bindgen_prelude::Unknown};

use super::{
    outbox::Promise,
    report,
    scorer::Owned,
    state::EnvState,
    view::{JsView, Thrown},
};
use crate::{
    error::Error,
    fault,
    scorer::{CallHandle, Detail, Reply, Task},
    trace::{self, ReadError},
};

/// What the promise resolves to.
#[derive(Clone)]
pub enum Answer {
    /// The score.
    Number,
    /// The score with its account.
    Report,
    /// Nothing.
    Nothing,
    /// The status of the scorer, once the embedder is warm.
    Status(Owned),
}

impl From<Task> for Answer {
    fn from(task: Task) -> Self {
        match task {
            Task::Score(Detail::Value) | Task::Peek(Detail::Value) => Self::Number,
            Task::Score(Detail::Account) | Task::Peek(Detail::Account) => Self::Report,
            Task::Remember => Self::Nothing,
        }
    }
}

/// Does `task` with `value`; whatever goes wrong from here on rejects the promise. The handle is
/// missing for a call that was refused.
pub fn submit<'env>(
    env: &'env Env,
    owned: &Owned,
    task: Task,
    value: Unknown<'env>,
) -> Result<(Unknown<'env>, Option<CallHandle>)> {
    let state = EnvState::of(env)?;
    let (promise, deferred) = Promise::new(env)?;
    let long = owned.scorer.options().long_text;
    let read = catch_unwind(AssertUnwindSafe(|| {
        fault::point("read");
        trace::read(&JsView::new(env, value), long)
    }));
    fault::point("submit");
    let refused = match read {
        Ok(Ok(trace)) => {
            let reply = reply(state, deferred, task.into());
            let embedder = owned.embedder();
            match embedder.and_then(|e| owned.scorer.submit(task, trace, Arc::new(e), reply)) {
                Ok(handle) => {
                    state.outbox.expect_one(env);
                    return Ok((promise, Some(handle)));
                }
                Err(error) => report::error(env, &error)?,
            }
        }
        Ok(Err(ReadError::Invalid(error))) => report::error(env, &error)?,
        // The caller's own error, thrown by a getter or a proxy, stays what it is.
        Ok(Err(ReadError::Fault(Thrown(thrown)))) => thrown,
        Err(_) => report::error(env, &Error::internal("reading the trace panicked"))?,
    };
    deferred.reject(env, refused)?;
    Ok((promise, None))
}

/// Loads the embedder and uses it once.
pub fn warm_up<'env>(env: &'env Env, owned: &Owned) -> Result<Unknown<'env>> {
    let state = EnvState::of(env)?;
    let (promise, deferred) = Promise::new(env)?;
    let reply = reply(state, deferred, Answer::Status(owned.clone()));
    let embedder = owned.embedder();
    let started = embedder.and_then(|e| owned.scorer.warm_up(Arc::new(e), reply));
    match started {
        Ok(_) => state.outbox.expect_one(env),
        Err(error) => deferred.reject(env, report::error(env, &error)?)?,
    }
    Ok(promise)
}

fn reply(state: &EnvState, deferred: Promise, answer: Answer) -> Reply {
    let outbox = state.outbox.clone();
    Box::new(move |result| outbox.post(deferred, answer, result))
}
