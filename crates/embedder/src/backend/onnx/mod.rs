//! The ONNX Runtime backend: sessions of a graph.

pub(crate) mod library;
mod operators;

use std::{ffi::CStr, sync::Arc};

use knowledgepulse_workers::{CancelToken, fault, join};
use once_cell::sync::OnceCell;
use ort::{
    AsPointer,
    environment::Environment,
    logging::LogLevel,
    session::{NoSelectedOutputs, RunOptions, Session, builder::SessionBuilder},
    sys,
    value::{TensorRef, TensorRefMut},
};

use super::Backend;
use crate::{
    BuiltInFiles, EMBEDDING_LEN, EmbedError, Embedding, Result,
    model::{files::WEIGHTS, memory_probe},
};

/// The file of the graph.
const GRAPH: &str = "exact.onnx";

/// The exact graph: `input_ids`, int64 \[tokens\], to `embedding`, float32 \[384\].
///
/// It has two sessions: one runs a text on all threads, the other one runs texts side by side on one thread each.
/// The second one is made when two texts are embedded at once for the first time. Both give the same bits.
pub(crate) struct OnnxModel {
    environment: &'static Environment,
    files: Arc<BuiltInFiles>,
    alone: Session,
    /// `None` inside if it could not be made: `alone` then runs all texts.
    side_by_side: OnceCell<Option<Session>>,
}

impl OnnxModel {
    /// Loads the graph and checks the weights.
    pub(crate) fn load(
        files: Arc<BuiltInFiles>,
        environment: &'static Environment,
        threads: usize,
    ) -> Result<Self> {
        let alone = verified_session(environment, &files, threads)?;
        Ok(Self { environment, files, alone, side_by_side: OnceCell::new() })
    }

    fn session(&self, is_alone: bool) -> &Session {
        if is_alone {
            return &self.alone;
        }
        let make = || {
            memory_probe::require(memory_probe::FOR_A_MODEL)?;
            // Checked again, because the files may have been replaced since the other session was made.
            verified_session(self.environment, &self.files, 1)
        };
        let made = self.side_by_side.get_or_init(|| make().ok());
        made.as_ref().unwrap_or(&self.alone)
    }
}

impl Backend for OnnxModel {
    fn run(&self, ids: &[i64], is_alone: bool, cancel: &CancelToken) -> Result<Embedding> {
        interruptible(cancel, |options| embed(self.session(is_alone), ids, options))
    }
}

/// Runs a session until it ends or the text is cancelled.
pub(crate) fn interruptible(
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

/// Makes a session from files that match the manifest. Hashes the weights while the graph is loaded, which takes about
/// the same time.
fn verified_session(
    environment: &Environment,
    files: &BuiltInFiles,
    threads: usize,
) -> Result<Session> {
    // Before ONNX Runtime reads it.
    files.verify(GRAPH)?;
    let load = |threads| {
        let mut builder =
            session_builder(environment, threads)?.with_operators(operators::domain()?)?;
        builder.commit_from_file(files.path(GRAPH))
    };
    let load = || {
        fault::point("session");
        on_threads(threads, load).map_err(runtime_error)
    };
    let (session, verified) = join(load, || files.verify(WEIGHTS));
    verified?;
    session.unwrap_or_else(|_| {
        Err(EmbedError::Runtime("the session could not be created: panic".into()))
    })
}

/// Loads a session with `threads` threads, or if that fails with the calling thread only: the system may refuse more.
pub(crate) fn on_threads(
    threads: usize,
    load: impl Fn(usize) -> ort::Result<Session>,
) -> ort::Result<Session> {
    load(threads).or_else(|error| if threads > 1 { load(1) } else { Err(error) })
}

/// Returns the configuration of all sessions.
pub(crate) fn session_builder(
    environment: &Environment,
    threads: usize,
) -> ort::Result<SessionBuilder> {
    Session::builder(environment)
        .and_then(|builder| Ok(builder.with_log_level(LogLevel::Fatal)?))
        .and_then(|builder| Ok(builder.with_intra_threads(threads)?))
        // Threads spin between the operations of a run, and stop with it.
        .and_then(|builder| Ok(builder.with_intra_op_spinning(true)?))
        .and_then(|builder| Ok(builder.with_config_entry("session.force_spinning_stop", "1")?))
        // A plan for each length of texts takes memory and saves no time.
        .and_then(|builder| Ok(builder.with_memory_pattern(false)?))
}

fn embed(
    session: &Session,
    ids: &[i64],
    options: &RunOptions<NoSelectedOutputs>,
) -> Result<Embedding> {
    let mut embedding: Embedding = vec![0.0; EMBEDDING_LEN].into();
    let input = TensorRef::from_array_view(([ids.len()], ids)).map_err(runtime_error)?;
    let output = TensorRefMut::from_array_view_mut(([EMBEDDING_LEN], &mut embedding[..]))
        .map_err(runtime_error)?;
    let (inputs, outputs) = ([(c"input_ids", input.ptr())], [(c"embedding", output.ptr())]);
    // SAFETY: the output tensor borrows `embedding`, which nothing else touches.
    unsafe { run(session, options, &inputs, &outputs) }?;
    drop(output);
    Ok(embedding)
}

/// Runs a session and returns the outputs. ONNX Runtime makes the outputs that are null.
///
/// `Session::run` needs `&mut self`, for execution providers that are not thread-safe. The C API documents `Run` as safe
/// to call concurrently on one session, and the CPU provider, the only one here, and our operators are thread-safe.
///
/// # Safety
///
/// All inputs must be valid tensors until this returns. An output must be null, or a tensor that nothing else accesses
/// until this returns. The caller must release the outputs that were null.
pub(crate) unsafe fn run(
    session: &Session,
    options: &RunOptions<NoSelectedOutputs>,
    inputs: &[(&CStr, *const sys::OrtValue)],
    outputs: &[(&CStr, *const sys::OrtValue)],
) -> Result<Vec<*mut sys::OrtValue>> {
    let names = |values: &[(&CStr, _)]| values.iter().map(|(name, _)| name.as_ptr()).collect();
    let (input_names, output_names): (Vec<_>, Vec<_>) = (names(inputs), names(outputs));
    let inputs: Vec<_> = inputs.iter().map(|(_, value)| *value).collect();
    let mut outputs: Vec<_> = outputs.iter().map(|(_, value)| value.cast_mut()).collect();
    // SAFETY: the arrays have the given lengths; the caller promises that the values are valid.
    let status = unsafe {
        (ort::api().Run)(
            session.ptr().cast_mut(),
            options.ptr(),
            input_names.as_ptr(),
            inputs.as_ptr(),
            inputs.len(),
            output_names.as_ptr(),
            output_names.len(),
            outputs.as_mut_ptr(),
        )
    };
    // SAFETY: the status comes from the call above and is used once.
    unsafe { ort::Error::result_from_status(status) }.map_err(runtime_error)?;
    Ok(outputs)
}

pub(crate) fn runtime_error(error: ort::Error) -> EmbedError {
    EmbedError::Runtime(error.to_string())
}
