//! The ONNX Runtime backend: the session of a graph.

pub(crate) mod library;
mod operators;

use std::{
    ffi::CStr,
    ptr::{self, NonNull},
    sync::Arc,
};

use knowledgepulse_workers::{CancelToken, fault};
use ort::{
    AsPointer,
    environment::Environment,
    logging::LogLevel,
    session::{
        NoSelectedOutputs, RunOptions, Session,
        builder::{GraphOptimizationLevel, SessionBuilder},
    },
    value::{DynValue, Tensor},
};

use super::loaded::Backend;
use crate::{
    embed_error::{EmbedError, Result},
    kernels::TextThreads,
    model::files::{BuiltInFiles, HashThreads, Unverified, WEIGHTS},
    shape::Embedding,
};

const GRAPH: &str = "exact.onnx";

/// The exact graph: `input_ids`, int64 \[tokens\], to `embedding`, float32 \[384\]. Its operators use threads of our own.
pub struct OnnxModel {
    session: Session,
    threads: TextThreads,
}

impl OnnxModel {
    /// Makes a session. Checks the graph, and the length of the weights.
    pub fn load(
        files: &BuiltInFiles,
        environment: &Environment,
        threads: usize,
    ) -> Result<Unverified<Box<dyn Backend>>> {
        fault::point("session");
        // Before ONNX Runtime reads them.
        files.verify(GRAPH, HashThreads::One)?;
        files.verify_length(WEIGHTS)?;
        let make = || {
            session_builder(environment, 1)?
                // All operators are ours.
                .with_optimization_level(GraphOptimizationLevel::Disable)?
                .with_operators(operators::domain()?)?
                .commit_from_file(files.path(GRAPH))
        };
        let session = make().map_err(runtime_error)?;
        Ok(Unverified::new(Box::new(Self { session, threads: TextThreads::new(threads) })))
    }
}

impl Backend for OnnxModel {
    fn embed_ids(&self, ids: &[i64], cancel: &CancelToken) -> Result<Embedding> {
        interruptible(cancel, |options| {
            let ids = Tensor::from_array(([ids.len()], ids.to_vec())).map_err(runtime_error)?;
            let inputs = [(c"input_ids", ids.into_dyn())];
            let run = |_| run_session(&self.session, options, &inputs, c"embedding");
            let output = self.threads.for_text(run)?;
            Ok(output.try_extract_tensor().map_err(runtime_error)?.1.into())
        })
    }
}

/// Runs a session until it ends or the text is cancelled.
pub fn interruptible(
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

pub fn session_builder(environment: &Environment, threads: usize) -> ort::Result<SessionBuilder> {
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
/// to call concurrently on one session, and the CPU provider, the only one here, and our operators are thread-safe.
pub fn run_session(
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

pub fn runtime_error(error: ort::Error) -> EmbedError {
    EmbedError::Runtime(error.to_string())
}
