//! The software that runs a model: token ids to embedding.

pub(crate) mod native;
pub(crate) mod onnx;

use knowledgepulse_workers::CancelToken;

pub use onnx::library::{disable_telemetry, loaded_library};

use crate::{
    BackendKind, EmbedError, Embedding, ModelSettings, Precision, Result, custom::CustomGraph,
    model::ModelFolder,
};

/// A loaded model. Any number of threads may run it at once, and their number changes no bit.
pub(crate) trait Backend: Send + Sync {
    /// Embeds the tokens of a window, on all threads if the text is alone, else on the calling one.
    fn run(&self, ids: &[i64], is_alone: bool, cancel: &CancelToken) -> Result<Embedding>;
}

/// A loaded backend, and why it is the native one although ONNX Runtime was requested.
type Loaded = (Box<dyn Backend>, Option<EmbedError>);

/// Loads the model into the backend of the settings. If the ONNX Runtime library cannot be loaded, the native backend
/// runs the built-in model, with the same bits.
pub(crate) fn load(folder: &ModelFolder, settings: &ModelSettings) -> Result<Loaded> {
    let ModelSettings { precision, threads, .. } = *settings;
    let native = |files| native::NativeModel::load(files, precision, threads);
    match (folder, settings.backend) {
        (ModelFolder::BuiltIn(files), BackendKind::Onnx) if precision == Precision::Exact => {
            match onnx::library::environment(&settings.library) {
                Ok(environment) => {
                    let model = onnx::OnnxModel::load(files.clone(), environment, threads)?;
                    Ok((Box::new(model), None))
                }
                Err(error) => Ok((Box::new(native(files)?), Some(error))),
            }
        }
        (ModelFolder::BuiltIn(files), _) => Ok((Box::new(native(files)?), None)),
        (ModelFolder::Custom(folder), BackendKind::Onnx) => {
            Ok((Box::new(CustomGraph::load(folder.clone(), settings)?), None))
        }
        (ModelFolder::Custom(_), BackendKind::Native) => Err(EmbedError::NeedsOnnx),
    }
}
