//! The ONNX Runtime backend: sessions of a graph.

pub(crate) mod library;
mod operators;

use std::{
    ffi::CStr,
    ptr::{self, NonNull},
    sync::Arc,
};

use knowledgepulse_workers::{CancelToken, fault, join};
use once_cell::sync::OnceCell;
use ort::{
    AsPointer,
    environment::Environment,
    logging::LogLevel,
    session::{NoSelectedOutputs, RunOptions, Session, builder::SessionBuilder},
    value::{DynValue, Tensor},
};

use super::Backend;
use crate::{
    BuiltInFiles, EmbedError, Embedding, Result,
    model::{files::WEIGHTS, memory_probe},
};

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
        interruptible(cancel, |options| {
            let ids = Tensor::from_array(([ids.len()], ids.to_vec())).map_err(runtime_error)?;
            let inputs = [(c"input_ids", ids.into_dyn())];
            let output = run(self.session(is_alone), options, &inputs, c"embedding")?;
            Ok(output.try_extract_tensor().map_err(runtime_error)?.1.into())
        })
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
    let load = || {
        fault::point("session");
        let load = |threads| {
            let builder = session_builder(environment, threads)?;
            builder.with_operators(operators::domain()?)?.commit_from_file(files.path(GRAPH))
        };
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

pub(crate) fn session_builder(
    environment: &Environment,
    threads: usize,
) -> ort::Result<SessionBuilder> {
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
pub(crate) fn run(
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

pub(crate) fn runtime_error(error: ort::Error) -> EmbedError {
    EmbedError::Runtime(error.to_string())
}
