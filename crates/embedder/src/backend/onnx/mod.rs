//! The ONNX Runtime backend.

mod graph;
pub(crate) mod library;

use std::{
    ffi::CStr,
    ptr::{self, NonNull},
    sync::Arc,
};

pub(crate) use graph::OnnxModel;
use knowledgepulse_workers::CancelToken;
use ort::{
    AsPointer,
    environment::Environment,
    logging::LogLevel,
    session::{NoSelectedOutputs, RunOptions, Session, builder::SessionBuilder},
    value::DynValue,
};

use crate::{
    embed_error::{EmbedError, Result},
    shape::Embedding,
};

/// Runs a session until it ends or the text is cancelled.
fn interruptible(
    cancel: &CancelToken,
    embed: impl FnOnce(&RunOptions<NoSelectedOutputs>) -> Result<Embedding>,
) -> Result<Embedding> {
    let options = Arc::new(RunOptions::new().map_err(runtime_error)?);
    let running = options.clone();
    // `terminate` fails only for null pointers.
    let interrupt = move || drop(running.terminate());
    match cancel.interruptible(interrupt, || embed(&options)) {
        Some(result) if !cancel.is_cancelled() => result,
        _ => Err(EmbedError::Cancelled),
    }
}

fn session_builder(environment: &Environment, threads: usize) -> ort::Result<SessionBuilder> {
    Ok(Session::builder(environment)?
        .with_log_level(LogLevel::Fatal)?
        .with_intra_threads(threads)?
        // Threads spin between the operations of a run, and stop with it.
        .with_intra_op_spinning(true)?
        .with_config_entry("session.force_spinning_stop", "1")?
        // A plan for each length of texts takes memory and saves no time.
        .with_memory_pattern(false)?)
}

/// Runs a session and returns one of its outputs.
///
/// `Session::run` needs `&mut self`, for execution providers that are not thread-safe. The C API documents `Run` as safe
/// to call concurrently on one session, and the CPU provider, the only one here, is thread-safe.
fn run_session(
    session: &Session,
    options: &RunOptions<NoSelectedOutputs>,
    inputs: &[(&CStr, DynValue)],
    output: &CStr,
) -> Result<DynValue> {
    let inputs = inputs.iter().map(|(name, value)| (name.as_ptr(), value.ptr()));
    let (names, inputs): (Vec<_>, Vec<_>) = inputs.unzip();
    let mut made = ptr::null_mut();
    // SAFETY: the arrays have the given lengths, and values of the session's types; ONNX Runtime makes an output
    // that is null.
    let status = unsafe {
        (ort::api().Run)(
            session.ptr().cast_mut(),
            options.ptr(),
            names.as_ptr(),
            inputs.as_ptr(),
            inputs.len(),
            &output.as_ptr(),
            1,
            &mut made,
        )
    };
    // SAFETY: the status comes from the call above and is used once.
    unsafe { ort::Error::result_from_status(status) }.map_err(runtime_error)?;
    let made = NonNull::new(made).ok_or_else(|| EmbedError::Model("it gave no output".into()))?;
    // SAFETY: the value comes from the call above and has no other owner.
    Ok(unsafe { DynValue::from_ptr(made, Some(session.allocator())) })
}

fn runtime_error(error: ort::Error) -> EmbedError {
    EmbedError::Runtime(error.to_string())
}
