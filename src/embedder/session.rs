//! The ONNX session: token ids to embedding.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use once_cell::sync::OnceCell;
use ort::{
    AsPointer,
    environment::Environment,
    logging::LogLevel,
    session::{NoSelectedOutputs, RunOptions, Session},
    value::{TensorRef, TensorRefMut},
};

use super::{DIMENSIONS, EmbedError, Embedding, ModelFiles};

/// Ends runs from another thread, between two operations of the graph.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Cancel>);

#[derive(Default)]
struct Cancel {
    cancelled: AtomicBool,
    running: Mutex<Option<Arc<RunOptions<NoSelectedOutputs>>>>,
}

impl CancelToken {
    /// Ends the run that holds this token, and any that would begin with it.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        if let Some(options) = &*self.running() {
            // The only failure is a null pointer, which it is not.
            let _ = options.terminate();
        }
    }

    /// Whether [`CancelToken::cancel`] has been called.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Arc<RunOptions<NoSelectedOutputs>>>> {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The embedding graph: `input_ids`, int64 \[tokens\], to `embedding`, float32 \[384\].
///
/// Two sessions of it: one puts every core to work on a single text, the other leaves it at one
/// thread, so that texts side by side do not get in each other's way. The second is made when
/// there are two texts for the first time. Both give the same bits.
pub struct ModelSession {
    environment: &'static Environment,
    files: Arc<ModelFiles>,
    alone: Session,
    /// `None` inside where it could not be made: the other one then serves all texts.
    side_by_side: OnceCell<Option<Session>>,
    running: AtomicUsize,
}

impl ModelSession {
    /// Loads the graph, and checks the weights meanwhile; at most `threads` work on one text.
    ///
    /// # Errors
    ///
    /// The weights are damaged, or what ONNX Runtime says against the graph.
    pub fn load(
        environment: &'static Environment,
        files: Arc<ModelFiles>,
        threads: usize,
    ) -> Result<Self, EmbedError> {
        let alone = verified_session(environment, &files, threads)?;
        let (side_by_side, running) = (OnceCell::new(), AtomicUsize::new(0));
        Ok(Self { environment, files, alone, side_by_side, running })
    }

    /// Runs the graph over one text.
    ///
    /// # Errors
    ///
    /// [`EmbedError::Cancelled`] when the token was cancelled, else what ONNX Runtime says.
    pub fn run(&self, ids: &[i64], cancel: &CancelToken) -> Result<Embedding, EmbedError> {
        let options = Arc::new(RunOptions::new().map_err(runtime_error)?);
        *cancel.running() = Some(options.clone());
        let result = if cancel.is_cancelled() {
            Err(EmbedError::Cancelled)
        } else {
            let others = self.running.fetch_add(1, Ordering::SeqCst);
            let result = run(self.session(others), ids, &options);
            self.running.fetch_sub(1, Ordering::SeqCst);
            result
        };
        *cancel.running() = None;
        match result {
            Err(_) if cancel.is_cancelled() => Err(EmbedError::Cancelled),
            Ok(embedding) if embedding.iter().any(|x| !x.is_finite()) => {
                Err(EmbedError::Runtime("the model gave a number that is not finite".into()))
            }
            other => other,
        }
    }

    /// The session for a text that is embedded beside `others`.
    fn session(&self, others: usize) -> &Session {
        if others == 0 {
            return &self.alone;
        }
        // Checked again: the files may have been replaced since the other session was made, and
        // scores must not depend on how many texts there are.
        let made = self
            .side_by_side
            .get_or_init(|| verified_session(self.environment, &self.files, 1).ok());
        made.as_ref().unwrap_or(&self.alone)
    }
}

/// A session whose files are what the manifest says. Reading the weights and loading the graph take
/// about the same time, and so are done at the same time.
fn verified_session(
    environment: &Environment,
    files: &ModelFiles,
    threads: usize,
) -> Result<Session, EmbedError> {
    files.verify_graph()?;
    thread::scope(|scope| {
        let session = scope.spawn(|| new_session(environment, files.graph(), threads));
        let verified = files.verify_weights();
        let session = session.join().unwrap_or_else(|_| {
            Err(EmbedError::Runtime("the session could not be created: panic".into()))
        });
        verified.and(session)
    })
}

fn new_session(
    environment: &Environment,
    graph: &Path,
    threads: usize,
) -> Result<Session, EmbedError> {
    let session = Session::builder(environment)
        .and_then(|builder| Ok(builder.with_log_level(LogLevel::Fatal)?))
        .and_then(|builder| Ok(builder.with_intra_threads(threads)?))
        // Spinning bridges the gaps between operations, and ends with the run.
        .and_then(|builder| Ok(builder.with_intra_op_spinning(true)?))
        .and_then(|builder| Ok(builder.with_config_entry("session.force_spinning_stop", "1")?))
        .and_then(|mut builder| builder.commit_from_file(graph))
        .map_err(runtime_error)?;
    release_free_memory();
    Ok(session)
}

/// Loading leaves half as much memory again with the allocator as the session needs.
fn release_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it only gives free pages back to the system, and may be called on any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

fn run(
    session: &Session,
    ids: &[i64],
    options: &RunOptions<NoSelectedOutputs>,
) -> Result<Embedding, EmbedError> {
    let mut embedding: Embedding = Box::new([0.0; DIMENSIONS]);
    let input = TensorRef::from_array_view(([ids.len()], ids)).map_err(runtime_error)?;
    let output = TensorRefMut::from_array_view_mut(([DIMENSIONS], &mut embedding[..]))
        .map_err(runtime_error)?;
    let (input_names, output_names) = ([c"input_ids".as_ptr()], [c"embedding".as_ptr()]);
    let inputs = [input.ptr()];
    let mut outputs = [output.ptr().cast_mut()];
    // `Session::run` wants `&mut self`, for execution providers that are not thread-safe. The C
    // API documents `Run` as safe to call concurrently on one session, and the CPU provider, the
    // only one here, keeps to that.
    //
    // SAFETY: all pointers are valid for the call, the arrays have the lengths given, and the
    // output tensor borrows `embedding`, which nothing else touches until the call returns.
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
    drop(output);
    Ok(embedding)
}

fn runtime_error(error: ort::Error) -> EmbedError {
    EmbedError::Runtime(error.to_string())
}
