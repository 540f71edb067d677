//! The folder of the built-in model: a manifest, and the files with the digests in it.

use std::{
    fs::{File, Metadata},
    io::{ErrorKind, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use blake3::{
    Hash, Hasher,
    hazmat::{
        ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root,
        merge_subtrees_root,
    },
};
use knowledgepulse_workers::run_both;
use memmap2::Mmap;
use serde::Deserialize;

use crate::{
    embed_error::{EmbedError, Result},
    shape::{EMBEDDING_LEN, MAX_TOKENS},
};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const WEIGHTS: &str = "model.bin";
pub(crate) const VOCABULARY: &str = "vocabulary.bin";
/// Files that only custom models have.
pub(crate) const CONFIG: &str = "config.json";
pub(crate) const TOKENIZER: &str = "tokenizer.json";
/// The file beside the shipped library with its entry, as in the manifest.
const LIBRARY_ENTRY: &str = "onnxruntime.json";
/// The largest tokenizers have about 40 MB.
pub(crate) const MAX_JSON_BYTES: u64 = 256 << 20;
/// The version of the layout that is read.
const FORMAT: u32 = 3;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    format: u32,
    name: String,
    dimensions: usize,
    max_tokens: usize,
    /// The digest of the published tokenizer, from which the vocabulary is made.
    tokenizer: String,
    files: Vec<Entry>,
}

#[derive(Deserialize)]
pub(crate) struct Entry {
    name: String,
    bytes: u64,
    blake3: String,
}

/// Proof that a file has the digest in the manifest.
pub struct Verified(());

/// A model whose weights have not been checked yet: they are hashed while they are read.
pub struct Unverified<T>(T);

impl<T> Unverified<T> {
    pub fn new(model: T) -> Self {
        Self(model)
    }

    /// Returns the model, which cannot be used before.
    pub fn verified(self, _weights: Verified) -> T {
        self.0
    }
}

/// The folder of the built-in model, whose manifest has been read.
pub struct BuiltInFiles {
    folder: PathBuf,
    manifest: Manifest,
}

impl BuiltInFiles {
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let json = read(&path, MAX_JSON_BYTES)?;
        let manifest: Manifest = serde_json::from_slice(&json)
            .map_err(|error| EmbedError::file(&path, format!("not a model manifest: {error}")))?;
        for (what, expected, found) in [
            ("format", FORMAT as usize, manifest.format as usize),
            ("dimensions", EMBEDDING_LEN, manifest.dimensions),
            ("maxTokens", MAX_TOKENS, manifest.max_tokens),
        ] {
            if found != expected {
                let what = format!("{what}: expected {expected}, got {found}");
                return Err(EmbedError::file(&path, what));
            }
        }
        Ok(Self { folder: folder.to_owned(), manifest })
    }

    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Returns the fingerprint. The graph is not part of it, because all backends and precisions compute the same
    /// model.
    pub fn fingerprint(&self) -> Result<String> {
        let Manifest { name, dimensions, max_tokens, tokenizer, .. } = &self.manifest;
        let weights = &self.entry(WEIGHTS)?.blake3;
        let mut hasher = Hasher::new();
        for part in [name, &dimensions.to_string(), &max_tokens.to_string(), weights, tokenizer] {
            // With the length, different parts never give the same bytes.
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        Ok(hasher.finalize().to_string())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.manifest.files.iter().map(|entry| self.path(&entry.name))
    }

    /// Returns the path and the contents of a file, checked against the manifest.
    pub(crate) fn read_verified(&self, name: &str) -> Result<(PathBuf, Vec<u8>)> {
        let (path, entry) = (self.path(name), self.entry(name)?);
        let contents = read(&path, MAX_JSON_BYTES)?;
        entry.check(&path, contents.len() as u64, blake3::hash(&contents))?;
        Ok((path, contents))
    }

    pub(crate) fn verify(&self, name: &str, threads: HashThreads) -> Result<Verified> {
        self.entry(name)?.verify(&self.path(name), threads)
    }

    /// Maps a file of the right length, whose contents are not checked.
    pub(crate) fn map(&self, name: &str) -> Result<Mmap> {
        let path = self.path(name);
        self.verify_length(name)?;
        // SAFETY: files of a package are replaced, not written to. ONNX Runtime maps them too.
        unsafe { Mmap::map(&open(&path)?) }.map_err(|error| EmbedError::file(&path, error))
    }

    /// As [`BuiltInFiles::verify`], without reading the file.
    pub(crate) fn verify_length(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        self.entry(name)?.check_length(&path, regular_file(&path)?.len())
    }

    pub(crate) fn entry(&self, name: &str) -> Result<&Entry> {
        let entry = self.manifest.files.iter().find(|entry| entry.name == name);
        entry.ok_or_else(|| EmbedError::file(&self.path(MANIFEST), format!("names no file {name}")))
    }
}

/// Checks a library against the entry beside it. Without an entry, or with one for another name, any library is right. An
/// entry that exists but cannot be read, for example for lack of file descriptors, is an error.
pub fn verify_library(path: &Path) -> Result<()> {
    let beside = path.with_file_name(LIBRARY_ENTRY);
    if beside.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(());
    }
    let json = read(&beside, MAX_JSON_BYTES)?;
    let entry: Entry = serde_json::from_slice(&json)
        .map_err(|error| EmbedError::file(&beside, format!("not a library entry: {error}")))?;
    if path.file_name().is_some_and(|name| name == entry.name.as_str()) {
        entry.verify(path, HashThreads::Many)?;
    }
    Ok(())
}

impl Entry {
    fn verify(&self, path: &Path, threads: HashThreads) -> Result<Verified> {
        let (bytes, digest) = hash_file(path, threads)?;
        self.check(path, bytes, digest)
    }

    pub fn check(&self, path: &Path, bytes: u64, digest: Hash) -> Result<Verified> {
        self.check_length(path, bytes)?;
        if Hash::from_hex(&self.blake3).ok() != Some(digest) {
            return Err(damaged(path, format!("BLAKE3 {}", self.blake3), digest));
        }
        Ok(Verified(()))
    }

    pub fn check_length(&self, path: &Path, bytes: u64) -> Result<()> {
        if bytes != self.bytes {
            return Err(damaged(path, format!("{} bytes", self.bytes), format!("{bytes} bytes")));
        }
        Ok(())
    }
}

/// Returns the metadata of a regular file. Fails for all others: reading a pipe or a device may not end.
pub(crate) fn regular_file(path: &Path) -> Result<Metadata> {
    let metadata = path.metadata().map_err(|error| EmbedError::file(path, error))?;
    if metadata.is_file() { Ok(metadata) } else { Err(EmbedError::file(path, "expected a file")) }
}

/// Opens a regular file.
pub(crate) fn open(path: &Path) -> Result<File> {
    regular_file(path)?;
    File::open(path).map_err(|error| EmbedError::file(path, error))
}

/// Returns the contents of a regular file of at most `most` bytes.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let length = regular_file(path)?.len();
    if length > most {
        let what = format!("expected at most {most} bytes, got {length}");
        return Err(EmbedError::file(path, what));
    }
    let mut contents = Vec::new();
    let bytes = length as usize;
    contents.try_reserve_exact(bytes).map_err(|_| EmbedError::Memory { bytes })?;
    let read = open(path)?.take(most).read_to_end(&mut contents);
    read.map_err(|error| EmbedError::file(path, error))?;
    Ok(contents)
}

/// The threads that hash a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum HashThreads {
    /// The calling one, which leaves the other cores to what is loaded at the same time.
    One,
    /// One for each part of [`PART_BYTES`].
    Many,
}

/// The longest part that one of many threads hashes.
const PART_BYTES: u64 = 8 << 20;

/// Returns the length and the digest of a file.
pub fn hash_file(path: &Path, threads: HashThreads) -> Result<(u64, Hash)> {
    let length = regular_file(path)?.len();
    if length > PART_BYTES && threads == HashThreads::Many {
        let (left, right) = hash_halves(path, 0, length)?;
        return Ok((length, merge_subtrees_root(&left, &right, Mode::Hash)));
    }
    let mut hasher = Hasher::new();
    hasher.update_reader(open(path)?).map_err(|error| EmbedError::file(path, error))?;
    Ok((hasher.count(), hasher.finalize()))
}

/// Returns the chaining values of both subtrees of BLAKE3 over `length` bytes.
fn hash_halves(path: &Path, from: u64, length: u64) -> Result<(ChainingValue, ChainingValue)> {
    let left = left_subtree_len(length);
    let (right, left) = run_both(
        || hash_subtree(path, from + left, length - left),
        || hash_subtree(path, from, left),
    );
    let panicked = |_| Err(EmbedError::file(path, "hashing panicked"));
    Ok((left?, right.unwrap_or_else(panicked)?))
}

fn hash_subtree(path: &Path, from: u64, length: u64) -> Result<ChainingValue> {
    if length > PART_BYTES {
        let (left, right) = hash_halves(path, from, length)?;
        return Ok(merge_subtrees_non_root(&left, &right, Mode::Hash));
    }
    let failed = |error| EmbedError::file(path, error);
    let mut file = open(path)?;
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut hasher = Hasher::new();
    hasher.set_input_offset(from).update_reader(file.take(length)).map_err(failed)?;
    if hasher.count() < length {
        return Err(EmbedError::file(path, "became shorter while it was read"));
    }
    Ok(hasher.finalize_non_root())
}

fn damaged(path: &Path, expected: String, found: impl ToString) -> EmbedError {
    EmbedError::Damaged { path: path.to_owned(), expected, found: found.to_string() }
}

#[cfg(test)]
mod tests;
