//! The model folder: a manifest, and the files that it vouches for.

use std::{
    collections::HashMap,
    fs::File,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use blake3::{Hash, Hasher};
use serde::Deserialize;

use super::{DIMENSIONS, EmbedError, MAX_TOKENS, Tokenizer};
use crate::fault;

const MANIFEST: &str = "manifest.json";
const GRAPHS: [&str; 4] = ["exact.onnx", "fast.onnx", "fast-u8.onnx", "fast-weights.onnx"];
const WEIGHTS: &str = "model.bin";
/// Beside the library that is shipped: what it must be, as an entry of the manifest.
const LIBRARY_ENTRY: &str = "onnxruntime.json";
const TOKENIZER: &str = "tokenizer.json";
/// The layout of the folder that this version reads.
const FORMAT: u32 = 2;

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
    /// Those of the file of weights, by name. Only the encoder in Rust needs them.
    #[serde(default)]
    tensors: HashMap<String, TensorEntry>,
}

/// What a tensor is, and where in the file of weights it begins.
#[derive(Deserialize)]
pub struct TensorEntry {
    #[serde(rename = "type")]
    pub element: String,
    pub shape: Vec<usize>,
    pub offset: u64,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    bytes: u64,
    blake3: String,
}

/// A model folder whose manifest has been read.
pub struct ModelFiles {
    folder: PathBuf,
    manifest: Manifest,
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
        Ok(Self { folder: folder.to_owned(), manifest })
    }

    /// The name of the model.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// What embeddings depend on, as 64 hexadecimal digits: those of models with the same fingerprint
    /// can be compared with each other. The graphs are left out, because every runtime and precision
    /// computes the same model.
    ///
    /// # Errors
    ///
    /// The manifest does not name the weights or the tokenizer.
    pub fn fingerprint(&self) -> Result<String, EmbedError> {
        let Manifest { name, dimensions, max_tokens, .. } = &self.manifest;
        let (weights, tokenizer) = (&self.entry(WEIGHTS)?.blake3, &self.entry(TOKENIZER)?.blake3);
        let mut hasher = Hasher::new();
        for part in [name, &dimensions.to_string(), &max_tokens.to_string(), weights, tokenizer] {
            // The length keeps apart what lies side by side.
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        Ok(hasher.finalize().to_string())
    }

    /// The path of a file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Reads and checks the tokenizer.
    ///
    /// # Errors
    ///
    /// Why it cannot be used.
    pub fn read_tokenizer(&self) -> Result<Tokenizer, EmbedError> {
        fault::point("tokenizer");
        let (path, entry) = (self.path(TOKENIZER), self.entry(TOKENIZER)?);
        let json = std::fs::read(&path).map_err(|error| file_error(&path, error))?;
        entry.check(&path, json.len() as u64, blake3::hash(&json))?;
        Tokenizer::from_json(&json).map_err(|what| file_error(&path, what))
    }

    /// Checks the graphs, which are small, and which ONNX Runtime must not see damaged.
    ///
    /// # Errors
    ///
    /// The first one that is not what the manifest says.
    pub fn verify_graphs(&self) -> Result<(), EmbedError> {
        GRAPHS.iter().try_for_each(|name| self.verify(name))
    }

    /// Checks the weights.
    ///
    /// # Errors
    ///
    /// They are not what the manifest says.
    pub fn verify_weights(&self) -> Result<(), EmbedError> {
        self.verify(WEIGHTS)
    }

    /// Opens the weights, to be checked as they are read.
    ///
    /// # Errors
    ///
    /// The file is missing, or the manifest does not name it.
    pub fn open_weights(&self) -> Result<CheckedFile<'_>, EmbedError> {
        CheckedFile::open(self.path(WEIGHTS), self.entry(WEIGHTS)?)
    }

    /// The tensors in the file of weights, by name.
    pub fn tensors(&self) -> &HashMap<String, TensorEntry> {
        &self.manifest.tensors
    }

    /// An error in the manifest.
    pub fn manifest_error(&self, what: impl ToString) -> EmbedError {
        file_error(&self.path(MANIFEST), what)
    }

    fn verify(&self, name: &str) -> Result<(), EmbedError> {
        self.entry(name)?.verify(&self.path(name))
    }

    fn entry(&self, name: &str) -> Result<&Entry, EmbedError> {
        let entry = self.manifest.files.iter().find(|entry| entry.name == name);
        entry.ok_or_else(|| self.manifest_error(format!("names no file {name}")))
    }
}

/// Checks the library against the entry beside it, if there is one of its name. An entry that is
/// there and cannot be read, for want of a file descriptor for instance, is no reason to do without.
///
/// # Errors
///
/// The library is not what the entry says, or the entry cannot be read.
pub fn verify_library(path: &Path) -> Result<(), EmbedError> {
    let beside = path.with_file_name(LIBRARY_ENTRY);
    let json = match std::fs::read(&beside) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        read => read.map_err(|error| file_error(&beside, error))?,
    };
    let entry: Entry = serde_json::from_slice(&json)
        .map_err(|error| file_error(&beside, format!("not a library entry: {error}")))?;
    if path.file_name().is_some_and(|name| name == entry.name.as_str()) {
        entry.verify(path)?;
    }
    Ok(())
}

impl Entry {
    fn verify(&self, path: &Path) -> Result<(), EmbedError> {
        CheckedFile::open(path.to_owned(), self)?.finish()
    }

    fn check(&self, path: &Path, bytes: u64, digest: Hash) -> Result<(), EmbedError> {
        let damaged =
            |expected, found| Err(EmbedError::Damaged { path: path.to_owned(), expected, found });
        if bytes != self.bytes {
            return damaged(format!("{} bytes", self.bytes), format!("{bytes} bytes"));
        }
        if Hash::from_hex(&self.blake3).ok() != Some(digest) {
            return damaged(format!("BLAKE3 {}", self.blake3), digest.to_string());
        }
        Ok(())
    }
}

/// A file that is digested as it is read. What was read may be used when [`CheckedFile::finish`] has
/// found it to be what the manifest says.
pub struct CheckedFile<'a> {
    path: PathBuf,
    entry: &'a Entry,
    file: File,
    hasher: Hasher,
    position: u64,
}

impl<'a> CheckedFile<'a> {
    fn open(path: PathBuf, entry: &'a Entry) -> Result<Self, EmbedError> {
        let file = File::open(&path).map_err(|error| file_error(&path, error))?;
        Ok(Self { path, entry, file, hasher: Hasher::new(), position: 0 })
    }

    /// How many bytes have been read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Reads as many bytes as the buffer has.
    ///
    /// # Errors
    ///
    /// The file ends before that, or cannot be read.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<(), EmbedError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..])? {
                0 => {
                    self.check()?;
                    let end = format!("ends at byte {}, within a tensor", self.position);
                    return Err(file_error(&self.path, end));
                }
                read => filled += read,
            }
        }
        Ok(())
    }

    /// Reads what is left, and checks that the whole is what the manifest says.
    ///
    /// # Errors
    ///
    /// It is not, or cannot be read.
    pub fn finish(mut self) -> Result<(), EmbedError> {
        let mut buffer = vec![0; 1 << 18];
        while self.read(&mut buffer)? > 0 {}
        self.check()
    }

    fn check(&self) -> Result<(), EmbedError> {
        self.entry.check(&self.path, self.position, self.hasher.finalize())
    }

    /// Reads some bytes, none at the end of the file.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, EmbedError> {
        let read = self.file.read(buffer).map_err(|error| file_error(&self.path, error))?;
        self.hasher.update(&buffer[..read]);
        self.position += read as u64;
        Ok(read)
    }
}

fn file_error(path: &Path, what: impl ToString) -> EmbedError {
    EmbedError::File { path: path.to_owned(), what: what.to_string() }
}

#[cfg(test)]
mod tests;
