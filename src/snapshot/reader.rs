//! Bytes that may be anything, read as a snapshot.

use std::{
    fmt::{self, Display},
    sync::Arc,
    time::Duration,
};

use super::{CHECKSUM, HEADER, MAGIC, Snapshot, VERSION};
use crate::{
    cache::{CacheOptions, Entry},
    error::{Error, Result, number},
};

/// How far from 1 the square of the length of a normalised vector may be. Rounding to float32
/// makes less than a tenth of it.
const TOLERANCE: f64 = 2e-6;

/// Where in the snapshot a value stands; only spelled out when something is wrong there.
#[derive(Clone, Copy)]
enum Place {
    Whole,
    Field(&'static str),
    Entry(u64, &'static str),
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Field(name) => write!(f, ": {name}"),
            Self::Entry(at, name) => write!(f, ": entries[{at}].{name}"),
        }
    }
}

/// What has not been read yet of bytes from some source.
pub struct Reader<'a> {
    source: &'a str,
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(source: &'a str, bytes: &'a [u8]) -> Self {
        Self { source, bytes }
    }

    fn error<T>(&self, place: Place, expected: impl Display, found: impl Display) -> Result<T> {
        Err(Error::invalid_snapshot(format!("{}{place}", self.source), expected, found))
    }

    fn take(&mut self, count: u64, place: Place) -> Result<&'a [u8]> {
        let left = self.bytes.len();
        match usize::try_from(count).ok().and_then(|count| self.bytes.split_at_checked(count)) {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(taken)
            }
            None => self.error(place, format!("{count} bytes"), format!("{left} bytes")),
        }
    }

    fn array<const N: usize>(&mut self, place: Place) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64, place)?);
        Ok(array)
    }

    fn u64(&mut self, place: Place) -> Result<u64> {
        self.array(place).map(u64::from_le_bytes)
    }

    fn u32(&mut self, place: Place) -> Result<u32> {
        self.array(place).map(u32::from_le_bytes)
    }

    /// A number from 1 to `most`.
    fn count(&mut self, most: usize, place: Place) -> Result<usize> {
        let found = self.u64(place)?;
        match usize::try_from(found) {
            Ok(count) if (1..=most).contains(&count) => Ok(count),
            _ => self.error(place, format!("1 to {most}"), found),
        }
    }

    fn duration(&mut self, place: Place) -> Result<Duration> {
        let (seconds, nanos) = (self.u64(place)?, self.u32(place)?);
        if nanos >= 1_000_000_000 {
            return self.error(place, "less than 1000000000 nanoseconds", nanos);
        }
        Ok(Duration::new(seconds, nanos))
    }

    fn text(&mut self, place: Place) -> Result<&'a str> {
        let length = self.u64(place)?;
        let bytes = self.take(length, place)?;
        str::from_utf8(bytes).or_else(|error| self.error(place, "UTF-8", error))
    }

    fn option<T>(
        &mut self,
        place: Place,
        read: impl FnOnce(&mut Self, Place) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.array(place)? {
            [0] => Ok(None),
            [1] => read(self, place).map(Some),
            [other] => self.error(place, "0 or 1 for absent or present", other),
        }
    }

    /// Checks header and checksum, and leaves what lies between them.
    fn unseal(&mut self) -> Result<()> {
        let whole = self.bytes;
        let head = &whole[..whole.len().min(MAGIC.len())];
        if !MAGIC.starts_with(head) {
            let found = format!("bytes that begin with \"{}\"", head.escape_ascii());
            return self.error(Place::Whole, "a snapshot of a vector cache", found);
        }
        let cut_off = |reader: &Self, expected: &str| {
            reader.error(Place::Whole, expected, format!("{} bytes: it is cut off", whole.len()))
        };
        if whole.len() < HEADER {
            return cut_off(self, &format!("at least {} bytes", HEADER + CHECKSUM));
        }
        self.take(MAGIC.len() as u64, Place::Whole)?;
        let version = self.u32(Place::Whole)?;
        if version != VERSION {
            return self.error(Place::Whole, format!("format version {VERSION}"), version);
        }
        let (expected, found) = (self.u64(Place::Whole)?, whole.len() as u64);
        if found < expected {
            return cut_off(self, &format!("{expected} bytes"));
        }
        if found > expected || found < (HEADER + CHECKSUM) as u64 {
            return self.error(Place::Whole, format!("{expected} bytes"), format!("{found} bytes"));
        }
        let (sealed, checksum) = whole.split_at(whole.len() - CHECKSUM);
        let found = blake3::hash(sealed);
        if found != *checksum {
            let expected: String = checksum.iter().map(|byte| format!("{byte:02x}")).collect();
            let found = format!("{found}: it is damaged");
            return self.error(Place::Whole, format!("the BLAKE3 checksum {expected}"), found);
        }
        self.bytes = &sealed[HEADER..];
        Ok(())
    }

    fn entry(&mut self, at: u64, dimensions: usize, most: Duration) -> Result<Entry> {
        let age = self.duration(Place::Entry(at, "age"))?;
        if age > most {
            let expected = format!("{most:?} or less, as of the entry before");
            return self.error(Place::Entry(at, "age"), expected, format!("{age:?}"));
        }
        let id = self.option(Place::Entry(at, "id"), Self::text)?.map(Arc::from);
        let place = Place::Entry(at, "vector");
        let bytes = self.take((dimensions * size_of::<f32>()) as u64, place)?;
        let vector: Vec<f32> = bytes.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).collect();
        let square: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        // Not a number fails this, too.
        if square == 0.0 || (square - 1.0).abs() <= TOLERANCE {
            return Ok(Entry { vector, age, id });
        }
        let found = match vector.iter().find(|x| !x.is_finite()) {
            Some(x) => number(f64::from(*x)),
            None => format!("length {}", number(square.sqrt())),
        };
        self.error(place, "finite numbers of length 1, or zeros", found)
    }
}

pub fn read(mut reader: Reader, fingerprint: &str) -> Result<Snapshot> {
    reader.unseal()?;
    let model = Place::Field("model");
    let found = reader.text(model)?;
    if found != fingerprint {
        return reader.error(model, format!("{fingerprint:?}"), shown(found));
    }
    let max_elements = reader.count(usize::MAX, Place::Field("maxElements"))?;
    let dimensions = reader.count(u32::MAX as usize, Place::Field("dimensions"))?;
    let ttl = reader.option(Place::Field("ttl"), Reader::duration)?;
    let count = reader.u64(Place::Field("entries"))?;
    if count > max_elements as u64 {
        return reader.error(Place::Field("entries"), format!("{max_elements} or fewer"), count);
    }
    // Not reserved beforehand: the number is only worth as much as the bytes that follow.
    let mut entries = Vec::new();
    let mut age = Duration::MAX;
    for at in 0..count {
        let entry = reader.entry(at, dimensions, age)?;
        age = entry.age;
        entries.push(entry);
    }
    if !reader.bytes.is_empty() {
        let found = format!("{} more bytes", reader.bytes.len());
        return reader.error(Place::Whole, format!("an end after {count} entries"), found);
    }
    let options = CacheOptions { max_elements, dimensions, ttl };
    Ok(Snapshot { source: reader.source.to_owned(), options, entries })
}

/// As much of a fingerprint as a message needs.
fn shown(fingerprint: &str) -> String {
    match fingerprint.char_indices().nth(2 * CHECKSUM) {
        Some((end, _)) => format!("{:?}…", &fingerprint[..end]),
        None => format!("{fingerprint:?}"),
    }
}
