//! A vector cache as bytes, to be restored in another process.
//!
//! | field | type, numbers little-endian |
//! | --- | --- |
//! | magic | 8 bytes, `KPCACHE` and a line feed |
//! | format version | u32, 2 |
//! | length of the whole, length of the header | u64 each, in bytes |
//! | header: the model, the bounds, age and id of each entry, the oldest first, and the place in a store | JSON |
//! | rows of the entries: vectors of length 1 or all zero, each padded with zeros to a multiple of 16 numbers | float32 |
//! | BLAKE3 of everything before it | 32 bytes |
//!
//! Ages are stored instead of times, because the clocks of two processes have no common origin; so ages do not advance
//! while the cache is a snapshot. Rows are stored as in the cache, so that similarities stay bit-identical, and so that a
//! cache can use the memory that they were read into.

mod bytes;

use std::{ops::Range, time::Duration};

pub use bytes::Bytes;
use knowledgepulse_workers::run_both;
use pulp::bytemuck::cast_slice;
use serde::{Deserialize, Serialize};

use crate::{
    cache::{CacheOptions, VectorCache, VectorEntry, is_unit, row_length},
    error::{Error, Invalid, Result},
};

const MAGIC: &[u8] = b"KPCACHE\n";
const VERSION: u32 = 2;
/// The offset of the header.
const HEADER: usize = 8 + 4 + 8 + 8;
// A big-endian processor would have to swap the bytes of all rows.
const _: () = assert!(cfg!(target_endian = "little"));
const CHECKSUM: usize = blake3::OUT_LEN;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Header {
    model: String,
    max_elements: usize,
    vector_len: usize,
    ttl: Option<Duration>,
    entries: Vec<VectorEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<Position>,
}

/// The position of an entry in a store, after which reading can continue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// The epoch of the store.
    pub epoch: String,
    /// The number of the entry.
    pub seq: u64,
    /// When it was appended, by the clock of the store.
    pub at: Duration,
    /// The UUID of its call.
    pub call: Box<str>,
}

/// The contents of a cache at one moment.
pub struct Contents {
    header: Header,
    rows: Vec<u8>,
}

impl Contents {
    /// Copies the rows that are unexpired at `now`, and the bounds of the cache. `fingerprint` is that of the model;
    /// `position` is that in a store that the cache mirrors.
    pub fn of(
        cache: &VectorCache,
        fingerprint: &str,
        now: Duration,
        position: Option<Position>,
    ) -> Self {
        let CacheOptions { max_elements, vector_len, ttl } = cache.options();
        let entries = cache.entries(now).map(|(entry, _)| entry).collect();
        let rows = cache.alive_rows(now).map(cast_slice::<_, u8>).concat();
        let model = fingerprint.to_owned();
        Self { header: Header { model, max_elements, vector_len, ttl, entries, position }, rows }
    }

    /// The same vectors without what depends on the clock, so that equal ones have equal bytes: all ages are 0, and
    /// reading a store cannot continue from them.
    #[must_use]
    pub fn without_ages(mut self) -> Self {
        self.header.entries.iter_mut().for_each(|entry| entry.age = Duration::ZERO);
        self.header.position = None;
        self
    }

    /// Returns the contents as bytes, with their checksum. Takes long, so no lock may be held.
    pub fn encode(self) -> Vec<u8> {
        let Self { header, rows: mut bytes } = self;
        let header = serde_json::to_vec(&header).expect("JSON of texts and numbers");
        let all = HEADER + header.len() + bytes.len() + CHECKSUM;
        let [all, head] = [all, header.len()].map(|x| (x as u64).to_le_bytes());
        let start = [MAGIC, &VERSION.to_le_bytes(), &all, &head, &header].concat();
        bytes.reserve_exact(start.len() + CHECKSUM);
        bytes.splice(..0, start);
        let checksum = blake3::hash(&bytes);
        bytes.extend(checksum.as_bytes());
        bytes
    }
}

/// A validated snapshot.
#[derive(Debug)]
pub struct Snapshot {
    header: Header,
    bytes: Bytes,
    /// The bytes of the rows.
    rows: Range<usize>,
}

impl Snapshot {
    /// Removes and returns the position in the store that the vectors mirror.
    pub fn take_position(&mut self) -> Option<Position> {
        self.header.position.take()
    }

    /// Returns the bounds that the cache had.
    pub fn options(&self) -> CacheOptions {
        let Header { max_elements, vector_len, ttl, .. } = self.header;
        CacheOptions { max_elements, vector_len, ttl }
    }

    /// Returns the cache, whose vectors continue to age from `now`. With another capacity or time to live than before,
    /// vectors that are too old are dropped, then the oldest beyond the capacity.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if there is not enough memory.
    ///
    /// # Panics
    ///
    /// If the capacity is 0, or the length of vectors is another.
    pub fn into_cache(self, options: CacheOptions, now: Duration) -> Result<VectorCache> {
        assert_eq!(options.vector_len, self.header.vector_len, "the length of vectors");
        VectorCache::restore(options, self.header.entries, self.bytes.map, self.rows, now)
    }
}

/// A place in a snapshot that is wrong, and what was expected and found there.
type Wrong = [String; 3];

/// Returns a [`Wrong`] as the error unless `$is`.
macro_rules! ensure {
    ($is:expr, $place:literal, $expected:literal, $found:literal) => {
        if !$is {
            return Err([format!($place), format!($expected), format!($found)]);
        }
    };
}

/// The fingerprint of a model, and the length of its vectors if it is known.
pub type Model<'a> = (&'a str, Option<usize>);

/// Reads a snapshot made by [`Contents::encode`], completely or not at all. Errors name it `source`. Takes at most a small
/// multiple of the bytes in memory; the cache reuses the bytes. An empty cache may have another length of vectors.
///
/// # Errors
///
/// `INVALID_SNAPSHOT` if the bytes are not a snapshot, have another version, are truncated or damaged, belong to a
/// model with another fingerprint or length of vectors, or contain values out of range.
pub fn decode(source: &str, bytes: Bytes, model: Model) -> Result<Snapshot> {
    let (header, rows) = read(&bytes, model).map_err(|[place, expected, found]| {
        Error::invalid(Invalid::Snapshot, format!("{source}{place}"), expected, found)
    })?;
    Ok(Snapshot { header, bytes, rows })
}

/// Returns the header, and the place of the rows.
fn read(bytes: &[u8], model: Model) -> Result<(Header, Range<usize>), Wrong> {
    // Errors that a user can mend first, then those of a defect or a crafted file.
    let start = &bytes[..bytes.len().min(MAGIC.len())];
    let (is_magic, found) = (MAGIC.starts_with(start), start.escape_ascii());
    ensure!(is_magic, "", "a snapshot of a vector cache", "bytes that begin with \"{found}\"");
    let (least, length) = (HEADER + CHECKSUM, bytes.len());
    ensure!(length >= HEADER, "", "at least {least} bytes", "{length} bytes: it is cut off");
    let version = number(&bytes[8..12]);
    ensure!(version == u64::from(VERSION), "", "format version {VERSION}", "{version}");
    let (expected, length) = (number(&bytes[12..20]).max(least as u64), length as u64);
    ensure!(length >= expected, "", "{expected} bytes", "{length} bytes: it is cut off");
    ensure!(length == expected, "", "{expected} bytes", "{length} bytes");
    let (sealed, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
    let expected = blake3::Hash::from_slice(checksum).expect("32 bytes");
    let (found, header) = run_both(|| blake3::hash(sealed), || read_sealed(sealed, model));
    ensure!(found == expected, "", "the BLAKE3 checksum {expected}", "{found}: it is damaged");
    let (header, end) = (header?, sealed.len());
    let numbers = header.entries.len() * row_length(header.vector_len);
    Ok((header, end - numbers * size_of::<f32>()..end))
}

/// Reads what the checksum covers, from magic to rows.
fn read_sealed(sealed: &[u8], (fingerprint, known): Model) -> Result<Header, Wrong> {
    let (length, left) = (number(&sealed[20..HEADER]), sealed.len() - HEADER);
    ensure!(length <= left as u64, ": header", "{length} bytes", "{left} bytes");
    let (header, rows) = sealed[HEADER..].split_at(length as usize);
    let header: Header = serde_json::from_slice(header).map_err(|error| {
        [": header".into(), "the JSON of a cache".into(), format!("{:.200}", error.to_string())]
    })?;
    let Header { ref model, max_elements, vector_len, ref entries, .. } = header;
    let found = format!("{model:.200}");
    ensure!(model == fingerprint, ": model", "{fingerprint:?}", "{found:?}");
    let most = u32::MAX as usize;
    ensure!((1..=most).contains(&vector_len), ": vectorLen", "1 to {most}", "{vector_len}");
    let expected = known.filter(|_| !entries.is_empty()).unwrap_or(vector_len);
    ensure!(vector_len == expected, ": vectorLen", "{expected}", "{vector_len}");
    let (count, least) = (entries.len(), entries.len().max(1));
    ensure!(max_elements >= least, ": maxElements", "{least} or more", "{max_elements}");
    let (row, (numbers, odd)) = (row_length(vector_len), rows.as_chunks());
    let is_whole = count.checked_mul(row) == Some(numbers.len()) && odd.is_empty();
    let found = rows.len();
    ensure!(is_whole, ": rows", "{count} rows of {row} float32", "{found} bytes");

    // Nothing is older than its store.
    let mut most = header.position.as_ref().map_or(Duration::MAX, |position| position.at);
    for (at, (entry, row)) in entries.iter().zip(numbers.chunks(row)).enumerate() {
        let age = entry.age;
        ensure!(age <= most, ": entries[{at}].age", "{most:?} or less", "{age:?}");
        most = age;
        let length = norm(row);
        let is_normalized = length == 0.0 || is_unit(length);
        ensure!(is_normalized, ": rows[{at}]", "length 1, or zeros", "length {length}");
    }
    Ok(header)
}

/// The length of a row. Eight independent sums, because the latency of an addition is four times the interval between
/// two.
fn norm(row: &[[u8; 4]]) -> f64 {
    let square = |bytes: &[u8; 4]| f64::from(f32::from_le_bytes(*bytes)).powi(2);
    let (eights, rest) = row.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for numbers in eights {
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum += square(number);
        }
    }
    sums.into_iter().chain(rest.iter().map(square)).sum::<f64>().sqrt()
}

/// A little-endian number of up to 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
