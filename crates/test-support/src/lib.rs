//! Support for the tests, benchmarks and fuzz targets of the engine: naive models written from the
//! specification, an embedder controlled by its text, traces, and the invariants of imported ones.
//!
//! Everything panics where a test has to fail.

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
pub use importing::{Logs, logs};
pub use trace::{input, read_trace, trace};

/// Returns the platform folder, `npm/<platform>`, in which the model was built.
pub fn package_folder() -> PathBuf {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../npm");
    let folders = fs::read_dir(packages).into_iter().flatten().flatten().map(|entry| entry.path());
    folders
        .filter(|folder| folder.join("model/manifest.json").exists())
        .min()
        .expect("run `npm run build` once: this test needs the model")
}

/// Returns the ONNX Runtime library of the npm package of the tests.
pub fn onnx_runtime() -> PathBuf {
    let platform = env::consts::OS.replace("macos", "darwin").replace("windows", "win32");
    let processor = env::consts::ARCH.replace("x86_64", "x64").replace("aarch64", "arm64");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../node_modules/onnxruntime-node/bin/napi-v3");
    let files = fs::read_dir(folder.join(platform).join(processor)).into_iter().flatten().flatten();
    let prefix = format!("{}onnxruntime.", env::consts::DLL_PREFIX);
    let name = |file: &PathBuf| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    };
    files
        .map(|file| file.path())
        .filter(name)
        .min()
        .expect("run `npm ci` once: this test needs onnxruntime-node")
}

/// The published `tokenizer.json` of the built-in model.
///
/// # Panics
///
/// The plain export has not been made.
pub fn published_tokenizer() -> Vec<u8> {
    let export = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmark/.model/Xenova");
    fs::read(export.join("all-MiniLM-L6-v2/tokenizer.json"))
        .expect("run `npm run build` once: this test needs the plain export")
}

/// The factor of repetitions: `KP_TRUST`, or 1.
fn factor() -> usize {
    env::var("KP_TRUST").map_or(1, |text| text.parse().expect("KP_TRUST is a whole number"))
}

/// Returns `count` times `KP_TRUST`: the number of generated cases of a test.
pub fn repeats(count: usize) -> usize {
    count * factor()
}

/// Whether this is a long run, which includes tests that are slow even once.
pub fn is_long_run() -> bool {
    factor() > 1
}
