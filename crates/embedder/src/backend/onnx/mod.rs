//! The ONNX Runtime backend: sessions of a graph.

pub(crate) mod library;
mod operators;
mod own;

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
use crate::{EMBEDDING_LEN, EmbedError, Embedding, ModelFiles, memory, model_files::WEIGHTS};
pub(crate) use own::OwnModel;

/// The exact graph: `input_ids`, int64 \[tokens\], to `embedding`, float32 \[384\].
///
/// Two sessions of it: one puts every core to work on a single text, the other leaves it at one
/// thread, so that texts side by side do not get in each other's way. The second is made when
/// there are two texts for the first time. Both give the same bits.
pub(crate) struct OnnxModel {
    maker: SessionMaker,
    alone: Session,
    /// `None` inside where it could not be made: the other one then serves all texts.
    side_by_side: OnceCell<Option<Session>>,
}

impl OnnxModel {
    /// Loads the graph, and checks the weights meanwhile.
    pub(crate) fn load(
        files: Arc<ModelFiles>,
        environment: &'static Environment,
        threads: usize,
    ) -> Result<Self, EmbedError> {
        let maker = SessionMaker { environment, files };
        let alone = maker.verified_session(threads)?;
        Ok(Self { maker, alone, side_by_side: OnceCell::new() })
    }

    /// The session for a text that is alone, or for one beside others.
    fn session(&self, is_alone: bool) -> &Session {
        if is_alone {
            return &self.alone;
        }
        // Checked again: the files may have been replaced since the other session was made, and
        // scores must not depend on how many texts there are.
        let make = || {
            memory::require(memory::FOR_A_MODEL)?;
            self.maker.verified_session(1)
        };
        let made = self.side_by_side.get_or_init(|| make().ok());
        made.as_ref().unwrap_or(&self.alone)
    }
}

impl Backend for OnnxModel {
    fn run(
        &self,
        ids: &[i64],
        is_alone: bool,
        cancel: &CancelToken,
    ) -> Result<Embedding, EmbedError> {
        interruptible(cancel, |options| embed(self.session(is_alone), ids, options))
    }
}

/// Runs a session until it ends or the text is cancelled.
fn interruptible(
    cancel: &CancelToken,
    embed: impl FnOnce(&RunOptions<NoSelectedOutputs>) -> Result<Embedding, EmbedError>,
) -> Result<Embedding, EmbedError> {
    let options = Arc::new(RunOptions::new().map_err(runtime_error)?);
    let running = options.clone();
    // The only failure of `terminate` is a null pointer, which it is not.
    let interrupt = move || drop(running.terminate());
    match cancel.interruptible(interrupt, || embed(&options)) {
        Some(result) if !cancel.is_cancelled() => result,
        _ => Err(EmbedError::Cancelled),
    }
}

/// The file of the graph.
const GRAPH: &str = "exact.onnx";

/// What sessions are made from.
struct SessionMaker {
    environment: &'static Environment,
    files: Arc<ModelFiles>,
}

impl SessionMaker {
    /// A session whose files are what the manifest says. Reading the weights and loading the graph
    /// take about the same time, and so are done at the same time.
    fn verified_session(&self, threads: usize) -> Result<Session, EmbedError> {
        // It is small, and ONNX Runtime must not see it damaged.
        self.files.verify(GRAPH)?;
        let load = || {
            fault::point("session");
            self.session(threads)
        };
        let (session, verified) = join(load, || self.files.verify(WEIGHTS));
        verified?;
        session.unwrap_or_else(|_| {
            Err(EmbedError::Runtime("the session could not be created: panic".into()))
        })
    }

    fn session(&self, threads: usize) -> Result<Session, EmbedError> {
        let load = |threads| {
            let mut builder =
                session_builder(self.environment, threads)?.with_operators(operators::domain()?)?;
            builder.commit_from_file(self.files.path(GRAPH))
        };
        on_threads(threads, load).map_err(runtime_error)
    }
}

/// Loads a session that runs on so many threads, or on the calling one alone where that fails: the system may
/// give no more, and both give the same bits.
fn on_threads(
    threads: usize,
    load: impl Fn(usize) -> ort::Result<Session>,
) -> ort::Result<Session> {
    load(threads).or_else(|error| if threads > 1 { load(1) } else { Err(error) })
}

/// How every session runs. No library of operators is registered.
fn session_builder(environment: &Environment, threads: usize) -> ort::Result<SessionBuilder> {
    Session::builder(environment)
        .and_then(|builder| Ok(builder.with_log_level(LogLevel::Fatal)?))
        .and_then(|builder| Ok(builder.with_intra_threads(threads)?))
        // Spinning bridges the gaps between operations, and ends with the run.
        .and_then(|builder| Ok(builder.with_intra_op_spinning(true)?))
        .and_then(|builder| Ok(builder.with_config_entry("session.force_spinning_stop", "1")?))
        // Texts are of all lengths: a plan for each takes memory and saves no time.
        .and_then(|builder| Ok(builder.with_memory_pattern(false)?))
}

fn embed(
    session: &Session,
    ids: &[i64],
    options: &RunOptions<NoSelectedOutputs>,
) -> Result<Embedding, EmbedError> {
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

/// Runs a session from tensors into tensors, which it returns. An output that is null is made by ONNX Runtime.
///
/// `Session::run` wants `&mut self`, for execution providers that are not thread-safe. The C API
/// documents `Run` as safe to call concurrently on one session, and the CPU provider, the only one
/// here, keeps to that; so do our operators.
///
/// # Safety
///
/// All values are tensors, alive until this returns; nothing else refers to those of the outputs. An output
/// that was null belongs to the caller.
unsafe fn run(
    session: &Session,
    options: &RunOptions<NoSelectedOutputs>,
    inputs: &[(&CStr, *const sys::OrtValue)],
    outputs: &[(&CStr, *const sys::OrtValue)],
) -> Result<Vec<*mut sys::OrtValue>, EmbedError> {
    let names = |values: &[(&CStr, _)]| values.iter().map(|(name, _)| name.as_ptr()).collect();
    let (input_names, output_names): (Vec<_>, Vec<_>) = (names(inputs), names(outputs));
    let inputs: Vec<_> = inputs.iter().map(|(_, value)| *value).collect();
    let mut outputs: Vec<_> = outputs.iter().map(|(_, value)| value.cast_mut()).collect();
    // SAFETY: the arrays have the lengths given; the caller vouches for the values.
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

fn runtime_error(error: ort::Error) -> EmbedError {
    EmbedError::Runtime(error.to_string())
}
