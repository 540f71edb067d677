//! What the tests, the benchmarks and the fuzz targets of the engine share: naive models that are
//! written from the specification, an embedder that does what the text says, traces, and what holds for
//! imported ones.
//!
//! - [`oracle`] computes scores from JSON.
//! - [`cache`] is a vector cache as a list, and the comparison of a real one with it.
//! - [`embedder`] is an embedder without a model.
//! - [`importing`] imports logs, and checks what comes out.
//! - [`trace()`] makes valid traces.
//! - [`package_folder`] finds the model that was built.

#![forbid(unsafe_code)]

pub mod cache;
pub mod embedder;
pub mod importing;
mod model;
pub mod oracle;
mod trace;

pub use embedder::FakeEmbedder;
pub use model::package_folder;
pub use trace::{input, trace};
