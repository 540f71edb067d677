//! What runs the model: token ids to embedding.

pub(crate) mod native;
pub(crate) mod onnx;

use std::sync::Arc;

use knowledgepulse_tasks::CancelToken;

pub use onnx::library::{disable_telemetry, loaded_library};

use crate::{EmbedError, Embedding, ModelFiles, ModelSettings};

/// What runs the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    /// The ONNX Runtime library.
    Onnx,
    /// This crate alone: every precision is computed exactly.
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
    /// Embeds 2 to 512 tokens: with all threads for a text that is alone, else with that of the caller.
    fn run(
        &self,
        ids: &[i64],
        is_alone: bool,
        cancel: &CancelToken,
    ) -> Result<Embedding, EmbedError>;
}

/// Loads what the backend of these settings needs, and nothing of the other one.
pub(crate) fn load(
    files: Arc<ModelFiles>,
    settings: &ModelSettings,
) -> Result<Box<dyn Backend>, EmbedError> {
    Ok(match settings.backend {
        BackendKind::Onnx => Box::new(onnx::OnnxModel::load(files, settings)?),
        BackendKind::Native => Box::new(native::NativeModel::load(&files, settings.threads)?),
    })
}
