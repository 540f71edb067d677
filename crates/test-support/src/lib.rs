//! What the tests, the benchmarks and the fuzz targets of the engine share: naive models that are
//! written from the specification, an embedder that does what the text says, traces, and what holds for
//! imported ones.
//!
//! - [`oracle`] computes scores from JSON.
//! - [`cache`] is a vector cache as a list, and the comparison of a real one with it.
//! - [`embedder`] is an embedder without a model.
//! - [`importing`] imports logs, and checks what comes out.
//! - [`read_trace`] reads a trace from a value of `serde_json`.
//! - [`memory`] counts the bytes that something takes.
//! - [`trace()`] makes valid traces.
//! - [`package_folder`] finds the model that was built.
//! - [`recordings()`] finds recorded logs.
//! - [`repeats`] says how often what is generated is repeated.

#![deny(unsafe_code)]

pub mod cache;
pub mod embedder;
pub mod importing;
pub mod memory;
mod model;
pub mod oracle;
mod recordings;
mod repeats;
mod trace;

pub use embedder::FakeEmbedder;
pub use model::package_folder;
pub use recordings::{Recordings, golden, recordings};
pub use repeats::{is_long_run, repeats};
pub use trace::{input, read_trace, trace};
