//! What the tests, the benchmarks and the fuzz targets of the engine share: naive models that are
//! written from the specification, an embedder that does what the text says, and traces.
//!
//! - [`oracle`] computes scores from JSON.
//! - [`cache`] is a vector cache as a list, and the comparison of a real one with it.
//! - [`embedder`] is an embedder without a model.
//! - [`trace()`] makes valid traces.
//! - [`package_folder`] finds the model that was built.

#![forbid(unsafe_code)]

pub mod cache;
pub mod embedder;
mod model;
pub mod oracle;
mod trace;

pub use embedder::FakeEmbedder;
pub use model::package_folder;
pub use trace::{input, trace};
