//! The software that runs a model: token ids to embedding.

mod native;
mod onnx;

use knowledgepulse_workers::CancelToken;

pub(crate) use native::NativeModel;
pub use onnx::library::{disable_telemetry, library_version};
pub(crate) use onnx::{OnnxModel, library::environment};

use crate::{embed_error::Result, shape::Embedding};

/// A loaded model. Any number of threads may run it at once, with the same bits.
pub(crate) trait Backend: Send + Sync {
    /// Embeds the tokens of a window, on all threads if no other text runs, else on the calling one.
    fn embed_ids(&self, ids: &[i64], cancel: &CancelToken) -> Result<Embedding>;
}
