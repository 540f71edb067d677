//! The software that runs a model: token ids to embedding.

mod loaded;
mod native;
mod onnx;

pub(crate) use loaded::Backend;
pub(crate) use native::NativeModel;
pub use onnx::library::{disable_telemetry, library_version};
pub(crate) use onnx::{
    OnnxModel, interruptible, library::CheckedLibrary, run_session, runtime_error, session_builder,
};
