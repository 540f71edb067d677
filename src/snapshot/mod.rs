//! A vector cache as bytes, to be carried from one process to the next.
//!
//! Numbers are little-endian. A text is its length in bytes (u64) and UTF-8. A duration is whole
//! seconds (u64) and nanoseconds (u32, less than 10⁹). What may be absent is a byte 0, or 1 and itself.
//!
//! | field | type |
//! | --- | --- |
//! | magic | 8 bytes, `KPCACHE` and a line feed |
//! | format version | u32, 1 |
//! | length of the whole | u64, in bytes |
//! | fingerprint of the model | text |
//! | capacity | u64, 1 or more |
//! | dimensions | u64, 1 to 2³² − 1 |
//! | time to live | duration, or absent |
//! | number of entries | u64, up to the capacity |
//! | entries, the oldest first | see below |
//! | BLAKE3 of everything before it | 32 bytes |
//!
//! | field of an entry | type |
//! | --- | --- |
//! | age | duration, not more than that of the entry before |
//! | id | text, or absent |
//! | vector | as many float32 as dimensions, of length 1 or all zero |
//!
//! Ages, not times, because clocks of two processes have no moment in common: a time to live stands
//! still while the cache is bytes. Vectors are kept as the cache has them, so that similarities
//! are the same to the bit afterwards.
//!
//! A snapshot is read completely or not at all. Checks go from what a user can do something about
//! (another file, another version, a piece of a file) to what only a fault can cause.

mod file;
mod reader;

use std::{path::Path, time::Duration};

pub use file::{load, save};

use crate::{
    cache::{CacheOptions, Entry, VectorCache},
    error::{Error, Result},
};
use reader::Reader;

const MAGIC: [u8; 8] = *b"KPCACHE\n";
const VERSION: u32 = 1;
/// Magic, version and length.
const HEADER: usize = 8 + 4 + 8;
const CHECKSUM: usize = blake3::OUT_LEN;

/// The vectors alive at `now` with the bounds of their cache, as bytes. `fingerprint` is that of
/// the model that the vectors come from.
///
/// Takes the time to copy and to hash the cache.
pub fn encode(cache: &mut VectorCache, fingerprint: &str, now: Duration) -> Vec<u8> {
    let CacheOptions { max_elements, dimensions, ttl } = cache.options();
    let entries = cache.entries(now);
    let vectors = entries.len() * (dimensions * size_of::<f32>() + 64);
    let mut bytes = Vec::with_capacity(HEADER + fingerprint.len() + 64 + vectors + CHECKSUM);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    // The length, when it is known.
    bytes.extend([0; 8]);
    put_text(&mut bytes, fingerprint);
    put_number(&mut bytes, max_elements);
    put_number(&mut bytes, dimensions);
    put_option(&mut bytes, ttl, put_duration);
    put_number(&mut bytes, entries.len());
    for Entry { vector, age, id } in entries {
        put_duration(&mut bytes, age);
        put_option(&mut bytes, id, |bytes, id| put_text(bytes, &id));
        bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
    }
    let length = (bytes.len() + CHECKSUM) as u64;
    bytes[HEADER - 8..HEADER].copy_from_slice(&length.to_le_bytes());
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    bytes
}

fn put_number(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend((number as u64).to_le_bytes());
}

fn put_duration(bytes: &mut Vec<u8>, duration: Duration) {
    bytes.extend(duration.as_secs().to_le_bytes());
    bytes.extend(duration.subsec_nanos().to_le_bytes());
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_number(bytes, text.len());
    bytes.extend(text.as_bytes());
}

fn put_option<T>(bytes: &mut Vec<u8>, option: Option<T>, put: impl FnOnce(&mut Vec<u8>, T)) {
    bytes.push(option.is_some().into());
    if let Some(value) = option {
        put(bytes, value);
    }
}

/// A cache that was bytes, valid by construction.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    source: String,
    options: CacheOptions,
    entries: Vec<Entry>,
}

impl Snapshot {
    /// The bounds that the cache had.
    pub fn options(&self) -> CacheOptions {
        self.options
    }

    /// The vectors, the oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The cache, whose vectors go on ageing from `now`. The bounds may be others than before: what
    /// is too old for them goes, then the oldest of what is too much.
    ///
    /// # Errors
    ///
    /// `INVALID_SNAPSHOT` for vectors of other dimensions than `options` say; `INVALID_OPTION` when
    /// the capacity is 0.
    pub fn into_cache(self, options: CacheOptions, now: Duration) -> Result<VectorCache> {
        let (expected, found) = (options.dimensions, self.options.dimensions);
        if expected != found {
            let place = format!("{}: dimensions", self.source);
            return Err(Error::invalid_snapshot(place, expected, found));
        }
        VectorCache::restore(options, self.entries, now)
    }
}

/// Reads what [`encode`] made. Never takes more memory than a small multiple of the bytes.
///
/// # Errors
///
/// `INVALID_SNAPSHOT` for bytes that are no snapshot, of another version, cut off or damaged, for a
/// cache of another model than the fingerprint says, and for values out of their range.
pub fn decode(bytes: &[u8], fingerprint: &str) -> Result<Snapshot> {
    decode_from("snapshot", bytes, fingerprint)
}

/// As [`decode`]; errors call the bytes `source`.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_from(source: &str, bytes: &[u8], fingerprint: &str) -> Result<Snapshot> {
    reader::read(Reader::new(source, bytes), fingerprint)
}

/// Reads the snapshot in a file; `None` when there is no such file.
///
/// # Errors
///
/// As [`load`] and [`decode`]; the place begins with the path.
pub fn open(path: &Path, fingerprint: &str) -> Result<Option<Snapshot>> {
    let Some(bytes) = load(path)? else { return Ok(None) };
    decode_from(&path.display().to_string(), &bytes, fingerprint).map(Some)
}

#[cfg(test)]
mod tests;
