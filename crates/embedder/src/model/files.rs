//! The folder of the built-in model: a manifest, and the files with the checksums in it.

use std::{
    convert::Infallible,
    fs::{File, Metadata},
    io::Read,
    path::{Path, PathBuf},
};

use knowledgepulse_workers::share_out;
use memmap2::Mmap;
use serde::Deserialize;
use twox_hash::XxHash3_128;

use crate::{
    embed_error::{EmbedError, Result},
    shape::{EMBEDDING_LEN, MAX_TOKENS},
};

pub(crate) const MANIFEST: &str = "manifest.json";
/// The graph, for ONNX Runtime.
pub(crate) const GRAPH: &str = "model.onnx";
pub(crate) const WEIGHTS: &str = "model.bin";
pub(crate) const VOCABULARY: &str = "vocabulary.bin";
/// Files that only custom models have.
pub(crate) const CONFIG: &str = "config.json";
pub(crate) const TOKENIZER: &str = "tokenizer.json";
/// The largest tokenizers have about 40 MB.
pub(crate) const MAX_JSON_BYTES: u64 = 256 << 20;
/// The version of the layout that is read.
const FORMAT: u32 = 4;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    format: u32,
    pub name: String,
    dimensions: usize,
    max_tokens: usize,
    /// That of all backends and precisions.
    pub fingerprint: String,
    files: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    bytes: u64,
    xxh3: String,
}

/// The folder of the built-in model, whose manifest has been read.
pub struct BuiltInFiles {
    folder: PathBuf,
    pub(crate) manifest: Manifest,
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

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Maps a file that equals its entry in the manifest. Of its pages, the first `released` bytes are left to the system
    /// after the comparison.
    pub(crate) fn map(&self, name: &str, released: usize) -> Result<Mmap> {
        let entry = self.manifest.files.iter().find(|entry| entry.name == name);
        let Entry { bytes, xxh3, .. } = entry.ok_or_else(|| {
            EmbedError::file(&self.path(MANIFEST), format!("names no file {name}"))
        })?;
        let path = self.path(name);
        // SAFETY: files of a package are replaced, not written to. ONNX Runtime maps them too.
        let mapping = unsafe { Mmap::map(&open(&path)?) };
        let file = mapping.map_err(|error| EmbedError::file(&path, error))?;
        let (expected, found) = (format!("{bytes} bytes"), format!("{} bytes", file.len()));
        if found != expected {
            return Err(EmbedError::Damaged { path, expected, found });
        }
        let found = format!("{:032x}", checksum(&file, released));
        if found != *xxh3 {
            return Err(EmbedError::Damaged { path, expected: format!("XXH3 {xxh3}"), found });
        }
        Ok(file)
    }
}

/// The bytes that a thread reads at a time, as in `model/checksum.py`.
const PART_BYTES: usize = 1 << 20;

/// Returns the XXH3-128 of the XXH3-128 of all parts, which finds damage at the speed of memory. Pages of the first `released`
/// bytes do not stay in the memory of the process.
///
/// It is not cryptographic: nothing signs the manifest, so whoever can replace a file can replace its checksum as well.
fn checksum(file: &Mmap, released: usize) -> u128 {
    let mut hashes = vec![[0; 16]; file.len().div_ceil(PART_BYTES)];
    let parts = (0..).step_by(PART_BYTES).zip(&mut hashes);
    let Ok(()) = share_out(parts, |(from, hash)| {
        let bytes = PART_BYTES.min(file.len() - from);
        // One system call in place of a page fault for every 64 KiB. Linux before 5.14 does not know it.
        #[cfg(target_os = "linux")]
        let _ = file.advise_range(memmap2::Advice::PopulateRead, from, bytes);
        *hash = XxHash3_128::oneshot(&file[from..from + bytes]).to_be_bytes();
        #[cfg(unix)]
        if from + bytes <= released {
            // SAFETY: the pages are those of a file that is mapped to be read, from which they are read again.
            let _ = unsafe {
                file.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, bytes)
            };
        }
        Ok::<_, Infallible>(())
    });
    XxHash3_128::oneshot(hashes.as_flattened())
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

#[cfg(test)]
mod tests;
