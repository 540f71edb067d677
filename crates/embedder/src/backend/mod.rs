//! What runs the model: token ids to embedding.

pub(crate) mod native;
pub(crate) mod onnx;

use knowledgepulse_workers::CancelToken;

pub use onnx::library::{disable_telemetry, loaded_library};

use crate::{EmbedError, Embedding, ModelSettings, Precision, source::Source};

/// What runs the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    /// The ONNX Runtime library.
    Onnx,
    /// This crate alone.
    Native,
}

impl Default for BackendKind {
    /// There is no ONNX Runtime library for musl.
    fn default() -> Self {
        if cfg!(target_env = "musl") { Self::Native } else { Self::Onnx }
    }
}

/// A loaded model. Any number of threads may run it at once, and their number changes no bit.
pub(crate) trait Backend: Send + Sync {
    /// Embeds the tokens of a window: with all threads for a text that is alone, else with that of the caller.
    fn run(
        &self,
        ids: &[i64],
        is_alone: bool,
        cancel: &CancelToken,
    ) -> Result<Embedding, EmbedError>;
}

/// A loaded backend.
pub(crate) struct Loaded {
    pub backend: Box<dyn Backend>,
    /// Why it is not ONNX Runtime, where that was asked for.
    pub onnx_error: Option<EmbedError>,
}

impl Loaded {
    fn new(backend: impl Backend + 'static) -> Self {
        Self { backend: Box::new(backend), onnx_error: None }
    }
}

/// Loads what the backend of these settings needs, and nothing of the other one. Where the library cannot be
/// loaded, the native backend runs the built-in model: it gives the same bits.
pub(crate) fn load(source: &Source, settings: &ModelSettings) -> Result<Loaded, EmbedError> {
    let ModelSettings { precision, threads, .. } = *settings;
    let native = |files| native::NativeModel::load(files, precision, threads).map(Loaded::new);
    match (source, settings.backend) {
        (Source::BuiltIn(files), BackendKind::Onnx) if precision == Precision::Exact => {
            match onnx::library::environment(&settings.library) {
                Ok(environment) => {
                    onnx::OnnxModel::load(files.clone(), environment, threads).map(Loaded::new)
                }
                Err(error) => Ok(Loaded { onnx_error: Some(error), ..native(files)? }),
            }
        }
        (Source::BuiltIn(files), _) => native(files),
        (Source::Own(folder), BackendKind::Onnx) => {
            onnx::OwnModel::load(folder.clone(), settings).map(Loaded::new)
        }
        (Source::Own(_), BackendKind::Native) => Err(EmbedError::NeedsOnnx),
    }
}
