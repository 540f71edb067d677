//! What runs the model: token ids to embedding.

pub(crate) mod native;
pub(crate) mod onnx;

use knowledgepulse_tasks::CancelToken;

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

/// Loads what the backend of these settings needs, and nothing of the other one.
pub(crate) fn load(
    source: &Source,
    settings: &ModelSettings,
) -> Result<Box<dyn Backend>, EmbedError> {
    Ok(match (source, settings.backend) {
        (Source::BuiltIn(files), BackendKind::Onnx) if settings.precision == Precision::Exact => {
            Box::new(onnx::OnnxModel::load(files.clone(), settings)?)
        }
        (Source::BuiltIn(files), _) => {
            Box::new(native::NativeModel::load(files, settings.precision, settings.threads)?)
        }
        (Source::Own(folder), BackendKind::Onnx) => {
            Box::new(onnx::OwnModel::load(folder.clone(), settings)?)
        }
        (Source::Own(_), BackendKind::Native) => return Err(EmbedError::NeedsOnnx),
    })
}
