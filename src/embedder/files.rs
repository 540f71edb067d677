//! The model folder: a manifest, and the files that it vouches for.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{DIMENSIONS, EmbedError, MAX_TOKENS, Tokenizer};

const MANIFEST: &str = "manifest.json";
const GRAPH: &str = "model.onnx";
/// Beside the library that is shipped: what it must be, as an entry of the manifest.
const LIBRARY_ENTRY: &str = "onnxruntime.json";
const TOKENIZER: &str = "tokenizer.json";
/// The layout of the folder that this version reads.
const FORMAT: u32 = 1;

/// The file name of the ONNX Runtime library that is shipped beside the addon.
///
/// It is a name of our own, so that another ONNX Runtime can live in the same process.
pub fn library_file_name() -> &'static str {
    if cfg!(windows) {
        "knowledgepulse_onnxruntime.dll"
    } else if cfg!(target_os = "macos") {
        "libknowledgepulse_onnxruntime.dylib"
    } else {
        "libknowledgepulse_onnxruntime.so"
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    format: u32,
    name: String,
    dimensions: usize,
    max_tokens: usize,
    files: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    bytes: u64,
    sha256: String,
}

/// A model folder whose manifest has been read.
pub struct ModelFiles {
    folder: PathBuf,
    manifest: Manifest,
    graph: PathBuf,
}

impl ModelFiles {
    /// Reads the manifest of a model folder.
    ///
    /// # Errors
    ///
    /// It is missing, or of another format.
    pub fn open(folder: &Path) -> Result<Self, EmbedError> {
        let path = folder.join(MANIFEST);
        let json = std::fs::read(&path).map_err(|error| file_error(&path, error))?;
        let manifest: Manifest = serde_json::from_slice(&json)
            .map_err(|error| file_error(&path, format!("not a model manifest: {error}")))?;
        for (what, expected, found) in [
            ("format", FORMAT as usize, manifest.format as usize),
            ("dimensions", DIMENSIONS, manifest.dimensions),
            ("maxTokens", MAX_TOKENS, manifest.max_tokens),
        ] {
            if found != expected {
                return Err(file_error(&path, format!("{what}: expected {expected}, got {found}")));
            }
        }
        Ok(Self { folder: folder.to_owned(), manifest, graph: folder.join(GRAPH) })
    }

    /// The name of the model.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The path of the ONNX graph.
    pub fn graph(&self) -> &Path {
        &self.graph
    }

    /// Reads and checks the tokenizer.
    ///
    /// # Errors
    ///
    /// Why it cannot be used.
    pub fn read_tokenizer(&self) -> Result<Tokenizer, EmbedError> {
        let entry = self.entry(TOKENIZER)?;
        let path = self.folder.join(TOKENIZER);
        let json = std::fs::read(&path).map_err(|error| file_error(&path, error))?;
        entry.check(&path, json.len() as u64, Sha256::digest(&json).as_slice())?;
        Tokenizer::from_json(&json).map_err(|what| file_error(&path, what))
    }

    /// Checks the graph, which is small, and which ONNX Runtime must not see damaged.
    ///
    /// # Errors
    ///
    /// It is not what the manifest says.
    pub fn verify_graph(&self) -> Result<(), EmbedError> {
        self.verify(self.entry(GRAPH)?)
    }

    /// Checks the weights: every file but the graph and the tokenizer.
    ///
    /// # Errors
    ///
    /// The first file that is not what the manifest says.
    pub fn verify_weights(&self) -> Result<(), EmbedError> {
        let weights = |entry: &&Entry| entry.name != GRAPH && entry.name != TOKENIZER;
        self.manifest.files.iter().filter(weights).try_for_each(|entry| self.verify(entry))
    }

    fn entry(&self, name: &str) -> Result<&Entry, EmbedError> {
        self.manifest
            .files
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| file_error(&self.folder.join(MANIFEST), format!("names no file {name}")))
    }

    fn verify(&self, entry: &Entry) -> Result<(), EmbedError> {
        entry.verify(&self.folder.join(&entry.name))
    }
}

/// Checks the library against the entry beside it, if there is one of its name.
///
/// # Errors
///
/// The library is not what the entry says, or the entry cannot be read.
pub fn verify_library(path: &Path) -> Result<(), EmbedError> {
    let beside = path.with_file_name(LIBRARY_ENTRY);
    let Ok(json) = std::fs::read(&beside) else { return Ok(()) };
    let entry: Entry = serde_json::from_slice(&json)
        .map_err(|error| file_error(&beside, format!("not a library entry: {error}")))?;
    if path.file_name().is_some_and(|name| name == entry.name.as_str()) {
        entry.verify(path)?;
    }
    Ok(())
}

impl Entry {
    fn verify(&self, path: &Path) -> Result<(), EmbedError> {
        let (bytes, digest) = digest(path).map_err(|error| file_error(path, error))?;
        self.check(path, bytes, &digest)
    }

    fn check(&self, path: &Path, bytes: u64, digest: &[u8]) -> Result<(), EmbedError> {
        let damaged =
            |expected, found| Err(EmbedError::Damaged { path: path.to_owned(), expected, found });
        if bytes != self.bytes {
            return damaged(format!("{} bytes", self.bytes), format!("{bytes} bytes"));
        }
        let found = hex(digest);
        if found != self.sha256 {
            return damaged(format!("SHA-256 {}", self.sha256), found);
        }
        Ok(())
    }
}

fn digest(path: &Path) -> std::io::Result<(u64, Vec<u8>)> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes, hasher.finalize().to_vec()));
        }
        bytes += read as u64;
        hasher.update(&buffer[..read]);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn file_error(path: &Path, what: impl ToString) -> EmbedError {
    EmbedError::File { path: path.to_owned(), what: what.to_string() }
}
