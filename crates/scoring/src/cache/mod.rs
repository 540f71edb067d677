//! A bounded first-in-first-out store of vectors with an optional time to live.
//!
//! A leaf: it knows nothing of traces or embedders, and never reads the clock. Vectors are kept normalised, row by row,
//! in one ring; entries are ordered by age, so only the start of the ring can expire. A row is a vector, padded with
//! zeros to whole SIMD registers. Times and ids are in queues beside the ring, so that a comparison reads only rows. A
//! large ring also has its rows as 8-bit codes, which are compared first.

mod codes;
mod similarity;

use std::{collections::VecDeque, num::NonZeroUsize, ops::Range, sync::Arc, time::Duration};

use memmap2::MmapMut;
use pulp::bytemuck::{cast_slice, cast_slice_mut};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Invalid, Result, number},
    id::Id,
};
use codes::{Codes, MOST_NUMBERS};
use similarity::{Best, offer_dots};
pub(crate) use similarity::{dot_of, is_unit, norm, normalize_into, row_length};

/// The most slots of a ring without codes, where they would gain little.
const FLAT_SLOTS: usize = 4096;

/// How a [`VectorCache`] is bounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheOptions {
    /// Capacity in vectors, at least 1. For a new vector, a cache that is full or out of memory drops the oldest one.
    /// Default 1,000.
    pub max_elements: usize,
    /// Length of every vector, at least 1. Default 384.
    pub vector_len: usize,
    /// Age at which a vector expires, measured from its addition. Default: never.
    pub ttl: Option<Duration>,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self { max_elements: 1000, vector_len: 384, ttl: None }
    }
}

/// Vectors to compare new ones with.
///
/// Every method takes the present time, as the duration since some fixed moment. Only methods that take `&mut self` drop
/// expired vectors, so a search at a later time leaves them to other searches.
#[derive(Debug)]
pub struct VectorCache {
    options: CacheOptions,
    /// Numbers in a row.
    row: usize,
    /// `slots` rows; vector `i` is in slot `(start + i) % slots`. Has pages of the usual size: large ones can take long to
    /// allocate, and only small rings are read as a whole.
    rows: Option<MmapMut>,
    slots: usize,
    /// The same rows as codes, if there are more than [`FLAT_SLOTS`] and enough memory.
    codes: Option<Codes>,
    start: usize,
    /// When each vector was added, and its id; the oldest first.
    added: VecDeque<(Duration, Option<Id>)>,
    /// The bytes of all ids.
    id_bytes: usize,
    /// Added to every time, so that a restored vector can be older than the origin of the clock.
    shift: Duration,
}

/// The vector most similar to a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Nearest {
    /// The id of the vector, if it has one.
    pub id: Option<Arc<str>>,
    /// The cosine similarity, in \[-1, 1\].
    pub similarity: f64,
}

/// The age and the id of a vector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VectorEntry {
    /// The time since its addition.
    pub age: Duration,
    /// Its id, if it has one.
    pub id: Option<Id>,
}

impl VectorCache {
    /// Returns an empty cache.
    ///
    /// # Panics
    ///
    /// If the capacity or the length of vectors is 0.
    pub fn new(options: CacheOptions) -> Self {
        let CacheOptions { max_elements, vector_len, .. } = options;
        assert!(max_elements.min(vector_len) > 0, "bounds of 1 or more");
        Self {
            options,
            row: row_length(vector_len),
            rows: None,
            slots: 0,
            codes: None,
            start: 0,
            added: VecDeque::new(),
            id_bytes: 0,
            shift: Duration::ZERO,
        }
    }

    /// Returns the bounds of the cache.
    pub fn options(&self) -> CacheOptions {
        self.options
    }

    /// Returns the number of vectors that have not expired.
    pub fn len(&self, now: Duration) -> usize {
        self.added.len() - self.expired(now)
    }

    /// Adds a vector, and drops the oldest if the cache is full. Takes the same time at any size. Several vectors may
    /// have the same `id`.
    ///
    /// # Errors
    ///
    /// `INVALID_VECTOR` for another length, or for a number that is not finite.
    pub fn add(&mut self, vector: &[f32], id: Option<Id>, now: Duration) -> Result<()> {
        let row = self.normalized(vector)?;
        self.evict_expired(now);
        if self.added.len() == self.slots && !self.reserve(self.slots + 1) {
            if self.slots == 0 {
                return Ok(());
            }
            self.pop_oldest();
        }
        let slot = (self.start + self.added.len()) % self.slots;
        let start = slot * self.row;
        self.numbers_mut()[start..][..row.len()].copy_from_slice(&row);
        if let Some(codes) = &mut self.codes {
            codes.set(slot, &row);
        }
        self.record(self.at(now), id);
        Ok(())
    }

    /// Returns the unexpired vector that is most similar to `query`, the oldest of equals; `None` if there is none. A
    /// zero vector has similarity 0 to everything.
    ///
    /// # Errors
    ///
    /// `INVALID_VECTOR` for another length, or for a number that is not finite.
    pub fn nearest(&self, query: &[f32], now: Duration) -> Result<Option<Nearest>> {
        let vectors = self.expired(now)..self.added.len();
        let mut found = self.search(query, Best::new(1, -1.0), vectors, now)?;
        Ok(found.pop().map(|(nearest, _)| nearest))
    }

    /// Returns up to `k` unexpired vectors with the greatest similarities to `query` of at least `at_least`, and their
    /// ages: the most similar first, the oldest first among equals. Of several with one id only the first.
    ///
    /// # Errors
    ///
    /// `INVALID_VECTOR` for another length, or for a number that is not finite.
    pub fn similar(
        &self,
        query: &[f32],
        k: NonZeroUsize,
        at_least: f64,
        now: Duration,
    ) -> Result<Vec<(Nearest, Duration)>> {
        let vectors = self.expired(now)..self.added.len();
        self.search(query, Best::new(k.get(), at_least).of_ids(self), vectors, now)
    }

    /// As [`VectorCache::nearest`] before the first unexpired vector with this `id` was added, and whether there is one.
    ///
    /// # Errors
    ///
    /// `INVALID_VECTOR` for another length, or for a number that is not finite.
    pub fn nearest_before(
        &self,
        id: &str,
        query: &[f32],
        now: Duration,
    ) -> Result<(Option<Nearest>, bool)> {
        let own = |(_, added): &(Duration, Option<Id>)| added.as_deref() == Some(id);
        let expired = self.expired(now);
        let count = self.added.iter().skip(expired).position(own);
        let end = count.map_or(self.added.len(), |count| expired + count);
        let mut found = self.search(query, Best::new(1, -1.0), expired..end, now)?;
        Ok((found.pop().map(|(nearest, _)| nearest), count.is_some()))
    }

    /// Returns the best of some vectors, which are counted from the oldest, and their ages.
    fn search(
        &self,
        query: &[f32],
        mut best: Best,
        vectors: Range<usize>,
        now: Duration,
    ) -> Result<Vec<(Nearest, Duration)>> {
        let row = &self.normalized(query)?;
        let slots = self.slots_of(vectors);
        if let Some(codes) = &self.codes {
            let value = |slot| dot_of(row, self.rows(slot..slot + 1));
            codes.search(row, slots, &mut best, value);
        } else {
            for slots in slots {
                offer_dots(row, self.rows(slots.clone()), slots.start, &mut best);
            }
        }
        let now = self.at(now);
        let found = |(slot, dot)| {
            let (added, id) = &self.added[self.index_of(slot)];
            let nearest = Nearest { similarity: f64::from(dot), id: id.clone().map(Into::into) };
            (nearest, now.saturating_sub(*added))
        };
        Ok(best.into_rows().map(found).collect())
    }

    /// Returns the index of the vector in a slot, from the oldest.
    fn index_of(&self, slot: usize) -> usize {
        (slot + self.slots - self.start) % self.slots
    }

    /// Returns the id of the vector in a slot.
    fn id_in(&self, slot: usize) -> Option<&Id> {
        self.added[self.index_of(slot)].1.as_ref()
    }

    /// Returns the ids of the unexpired vectors, the oldest first.
    pub fn ids(&self, now: Duration) -> impl Iterator<Item = &Id> {
        self.added.iter().skip(self.expired(now)).filter_map(|(_, id)| id.as_ref())
    }

    /// Drops the vectors whose age is at least the time to live.
    pub fn evict_expired(&mut self, now: Duration) {
        for _ in 0..self.expired(now) {
            self.pop_oldest();
        }
    }

    /// Returns the number of bytes that vectors and ids take, spare capacity included. An id counts once for each of
    /// its vectors.
    pub fn memory(&self) -> usize {
        self.slots * self.row * size_of::<f32>()
            + self.codes.as_ref().map_or(0, Codes::memory)
            + self.added.capacity() * size_of::<(Duration, Option<Id>)>()
            + self.id_bytes
    }

    /// Drops everything and frees the memory.
    pub fn clear(&mut self) {
        *self = Self::new(self.options);
    }

    /// Drops everything. From now on vectors have this length, at least 1.
    pub fn restart(&mut self, vector_len: usize) {
        *self = Self::new(CacheOptions { vector_len, ..self.options });
    }

    /// Drops all unexpired vectors with this `id` and returns their number. The others keep order and age.
    pub fn remove(&mut self, id: &str, now: Duration) -> usize {
        self.evict_expired(now);
        let (slots, count) = (self.slots, self.added.len());
        let mut kept = 0;
        for i in 0..count {
            if self.added[i].1.as_deref() == Some(id) {
                self.id_bytes -= id.len();
                continue;
            }
            if kept < i {
                let [from, to] = [i, kept].map(|i| (self.start + i) % slots);
                let row = self.row;
                self.numbers_mut().copy_within(from * row..(from + 1) * row, to * row);
                if let Some(codes) = &mut self.codes {
                    codes.copy(from, to);
                }
                self.added.swap(i, kept);
            }
            kept += 1;
        }
        self.added.truncate(kept);
        count - kept
    }

    /// Returns the unexpired vectors, the oldest first: of length 1, or all zero.
    pub fn entries(&self, now: Duration) -> impl ExactSizeIterator<Item = (VectorEntry, &[f32])> {
        let (expired, now) = (self.expired(now), self.at(now));
        self.added.iter().enumerate().skip(expired).map(move |(i, (added, id))| {
            let slot = (self.start + i) % self.slots;
            let entry = VectorEntry { age: now.saturating_sub(*added), id: id.clone() };
            (entry, &self.rows(slot..slot + 1)[..self.options.vector_len])
        })
    }

    /// Returns the unexpired rows, the oldest first, in the two parts of the ring.
    pub(crate) fn alive_rows(&self, now: Duration) -> [&[f32]; 2] {
        self.slots_of(self.expired(now)..self.added.len()).map(|slots| self.rows(slots))
    }

    /// Returns a cache with the `entries`, which continue to age from `now`, and their rows in `memory`. Similarities
    /// stay bit-identical. The cache keeps `memory`, because writing to new memory would take longer than everything
    /// else. If the bounds have changed, expired vectors and the oldest beyond the capacity are dropped.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if there is not enough memory.
    pub(crate) fn restore(
        options: CacheOptions,
        mut entries: Vec<VectorEntry>,
        mut memory: MmapMut,
        rows: Range<usize>,
        now: Duration,
    ) -> Result<Self> {
        let mut cache = Self::new(options);
        let surplus = entries.len().saturating_sub(options.max_elements);
        entries.drain(..surplus);
        if let Some(oldest) = entries.first() {
            cache.shift = oldest.age;
            let row_bytes = cache.row * size_of::<f32>();
            memory.copy_within(rows.start + surplus * row_bytes..rows.end, 0);
            let slots = cache.slots_for(entries.len()).min(memory.len() / row_bytes);
            let reserved = cache.added.try_reserve_exact(slots);
            reserved.map_err(|_| Error::internal("not enough memory for the snapshot"))?;
            cache.replace_rows(memory, slots, entries.len());
        }
        let at = cache.at(now);
        for VectorEntry { age, id } in entries {
            cache.record(at.saturating_sub(age), id);
        }
        cache.evict_expired(now);
        Ok(cache)
    }

    /// Converts a given time to one as in `added`.
    fn at(&self, now: Duration) -> Duration {
        now.saturating_add(self.shift)
    }

    /// The number of expired vectors, which are the oldest.
    fn expired(&self, now: Duration) -> usize {
        let Some(ttl) = self.options.ttl else { return 0 };
        let now = self.at(now);
        self.added.partition_point(|(added, _)| now.saturating_sub(*added) >= ttl)
    }

    /// The slots of some vectors, in the two parts of the ring.
    fn slots_of(&self, vectors: Range<usize>) -> [Range<usize>; 2] {
        let (start, end) = (self.start + vectors.start, self.start + vectors.end);
        let [first, second] = [start, end].map(|at| at.min(self.slots));
        [first..second, start - first..end - second]
    }

    /// The rows of some slots.
    fn rows(&self, slots: Range<usize>) -> &[f32] {
        let numbers = self.rows.as_deref().map_or(&[][..], cast_slice);
        &numbers[slots.start * self.row..slots.end * self.row]
    }

    fn numbers_mut(&mut self) -> &mut [f32] {
        self.rows.as_deref_mut().map_or(&mut [], cast_slice_mut)
    }

    /// Adds the time and the id of the newest vector.
    fn record(&mut self, added: Duration, id: Option<Id>) {
        // Two threads may arrive in another order than they read the clock.
        let added = self.added.back().map_or(added, |(last, _)| added.max(*last));
        self.id_bytes += bytes_of(&id);
        self.added.push_back((added, id));
    }

    fn pop_oldest(&mut self) {
        if let Some((_, id)) = self.added.pop_front() {
            self.id_bytes -= bytes_of(&id);
            self.start = (self.start + 1) % self.slots;
        }
    }

    /// Enlarges the ring for this many vectors, up to the capacity. Returns whether it has grown: not if it is already
    /// as large, or there is no memory.
    pub(crate) fn reserve(&mut self, vectors: usize) -> bool {
        let slots = self.slots_for(vectors);
        if slots <= self.slots || self.added.try_reserve_exact(slots - self.slots).is_err() {
            return false;
        }
        let Some(mut rows) = zeros(slots.saturating_mul(self.row)) else { return false };
        let numbers: &mut [f32] = cast_slice_mut(&mut rows);
        let (newer, older) = self.rows(0..self.slots).split_at(self.start * self.row);
        numbers[..older.len()].copy_from_slice(older);
        numbers[older.len()..][..newer.len()].copy_from_slice(newer);
        self.replace_rows(rows, slots, self.slots);
        true
    }

    /// Returns the number of slots of a ring for this many vectors, at most the capacity.
    fn slots_for(&self, vectors: usize) -> usize {
        vectors.next_power_of_two().max(16).min(self.options.max_elements)
    }

    /// Makes a ring of rows, of which the first `count` are in use.
    fn replace_rows(&mut self, rows: MmapMut, slots: usize, count: usize) {
        (self.codes, self.rows, self.slots, self.start) = (None, Some(rows), slots, 0);
        if slots > FLAT_SLOTS && self.row <= MOST_NUMBERS {
            self.codes = Codes::new(slots, self.row, self.rows(0..count));
        }
    }

    /// The row of a vector: of length 1, or all zero, and padded.
    fn normalized(&self, vector: &[f32]) -> Result<Vec<f32>> {
        if vector.len() != self.options.vector_len {
            return Err(Error::vector_length(self.options.vector_len, vector.len()));
        }
        if let Some(at) = vector.iter().position(|x| !x.is_finite()) {
            let (place, found) = (format!("vector[{at}]"), number(vector[at].into()));
            return Err(Error::invalid(Invalid::Vector, place, "a finite float32", found));
        }
        let mut row = vec![0.0; self.row];
        normalize_into(&mut row, vector);
        Ok(row)
    }
}

/// Returns zeros, or `None` if there is not enough memory.
fn zeros(numbers: usize) -> Option<MmapMut> {
    #[cfg(test)]
    if numbers > tests::MOST.get() {
        return None;
    }
    MmapMut::map_anon(numbers.checked_mul(size_of::<f32>())?).ok()
}

fn bytes_of(id: &Option<Id>) -> usize {
    id.as_ref().map_or(0, |id| id.len())
}

#[cfg(test)]
mod tests;
