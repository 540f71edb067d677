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

use std::{
    env, fs,
    path::{Path, PathBuf},
};

pub mod cache;
pub mod embedder;
pub mod importing;
pub mod memory;
pub mod oracle;
mod trace;

pub use embedder::FakeEmbedder;
pub use importing::{Recordings, recordings};
pub use trace::{input, read_trace, trace};

/// Returns the folder of a platform, `npm/<platform>`, that the model has been built into.
///
/// # Panics
///
/// When there is none.
pub fn package_folder() -> PathBuf {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../npm");
    let folders = fs::read_dir(packages).into_iter().flatten().flatten().map(|entry| entry.path());
    folders
        .filter(|folder| folder.join("model/manifest.json").exists())
        .min()
        .expect("run `npm run build` once: this test needs the model")
}

/// By how much more is repeated: `KP_TRUST`, or 1.
fn factor() -> usize {
    env::var("KP_TRUST").map_or(1, |text| text.parse().expect("KP_TRUST is a whole number"))
}

/// Returns `count`, or `KP_TRUST` times as many: how often a test repeats what is generated.
pub fn repeats(count: usize) -> usize {
    count * factor()
}

/// Whether this is a long run, which also does what takes long even once.
pub fn is_long_run() -> bool {
    factor() > 1
}
