//! Which model is used and how, and the files of the built-in model.

pub(crate) mod files;
pub(crate) mod memory_probe;
pub(crate) mod package;
pub(crate) mod settings;

pub use package::PackageFolder;
pub use settings::{BackendKind, ModelOptions, ModelSettings, Precision};
