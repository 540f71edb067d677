//! A naive vector cache, and its comparison with a real one.

use std::{collections::HashSet, num::NonZeroUsize, time::Duration};

use knowledgepulse_scoring::{
    Id,
    cache::{CacheOptions, Nearest, VectorCache, VectorEntry},
};

/// A list of vectors, scanned for every query.
#[derive(Debug, Clone)]
pub struct NaiveCache {
    options: CacheOptions,
    known: Vec<Known>,
    /// When it was last asked something.
    now: Duration,
}

#[derive(Debug, Clone)]
struct Known {
    vector: Vec<f32>,
    /// The vector at length 1, as the cache must keep it.
    normalized: Vec<f32>,
    age: Duration,
    id: Option<Id>,
}

impl NaiveCache {
    /// Returns an empty one.
    pub fn new(options: CacheOptions) -> Self {
        Self { options, known: Vec::new(), now: Duration::ZERO }
    }

    /// Adds a vector.
    pub fn add(&mut self, vector: &[f32], id: Option<Id>, now: Duration) {
        self.expire(now);
        let normalized = self.normalized(vector);
        self.known.push(Known { vector: vector.to_vec(), normalized, age: Duration::ZERO, id });
        self.cut();
    }

    /// Returns the vectors most similar to `query`, of equals the oldest first, and of one id only the first. Bit-exact, because each
    /// vector is compared in a separate real cache.
    pub fn similar(
        &mut self,
        query: &[f32],
        k: usize,
        at_least: f64,
        now: Duration,
    ) -> Vec<(Nearest, Duration)> {
        self.expire(now);
        let similar = |known: &Known| {
            let alone = self.alone(&known.vector);
            let found = alone.nearest(query, Duration::ZERO).expect("a query");
            let similarity = found.expect("one vector").similarity;
            (Nearest { similarity, id: known.id.clone().map(Into::into) }, known.age)
        };
        let mut all: Vec<_> = self.known.iter().map(similar).collect();
        all.retain(|(nearest, _)| nearest.similarity >= at_least);
        // Stable, so the oldest of equals stays the first.
        all.sort_by(|(a, _), (b, _)| b.similarity.partial_cmp(&a.similarity).expect("numbers"));
        let mut ids = HashSet::new();
        all.retain(|(Nearest { id, .. }, _)| id.is_none() || ids.insert(id.clone()));
        all.truncate(k);
        all
    }

    /// Returns the first of the vectors that are most similar to `query`.
    pub fn nearest(&mut self, query: &[f32], now: Duration) -> Option<Nearest> {
        self.similar(query, 1, -1.0, now).pop().map(|(nearest, _)| nearest)
    }

    /// Returns the nearest of those that were added before the first one with this id, and whether there is one.
    pub fn nearest_before(
        &mut self,
        id: &Id,
        query: &[f32],
        now: Duration,
    ) -> (Option<Nearest>, bool) {
        self.expire(now);
        let first = self.known.iter().position(|known| known.id.as_ref() == Some(id));
        let mut before = self.clone();
        before.known.truncate(first.unwrap_or(usize::MAX));
        (before.nearest(query, now), first.is_some())
    }

    /// Drops the vectors with this id; returns their number.
    pub fn remove(&mut self, id: &str, now: Duration) -> usize {
        self.expire(now);
        let before = self.known.len();
        self.known.retain(|known| known.id.as_deref() != Some(id));
        before - self.known.len()
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.known.clear();
    }

    /// Continues with other bounds and another clock.
    pub fn restart(&mut self, options: CacheOptions, before: Duration, after: Duration) {
        self.expire(before);
        (self.options, self.now) = (options, after);
        self.cut();
        self.expire(after);
    }

    /// Returns the vectors alive, normalised, the oldest first.
    pub fn entries(
        &mut self,
        now: Duration,
    ) -> impl ExactSizeIterator<Item = (VectorEntry, &[f32])> {
        self.expire(now);
        let entry = |known: &Known| VectorEntry { age: known.age, id: known.id.clone() };
        self.known.iter().map(move |known| (entry(known), &known.normalized[..]))
    }

    fn expire(&mut self, now: Duration) {
        for known in &mut self.known {
            known.age += now.saturating_sub(self.now);
        }
        self.now = now;
        self.known.retain(|known| self.options.ttl.is_none_or(|ttl| known.age < ttl));
    }

    fn cut(&mut self) {
        let surplus = self.known.len().saturating_sub(self.options.max_elements);
        self.known.drain(..surplus);
    }

    /// A real cache of one vector.
    fn alone(&self, vector: &[f32]) -> VectorCache {
        let options = CacheOptions { max_elements: 1, ttl: None, ..self.options };
        let mut cache = VectorCache::new(options);
        cache.add(vector, None, Duration::ZERO).expect("a vector");
        cache
    }

    /// A vector of length 1: by definition up to rounding, then as in the engine.
    fn normalized(&self, vector: &[f32]) -> Vec<f32> {
        let alone = self.alone(vector);
        let found = alone.entries(Duration::ZERO).next().expect("one vector").1.to_vec();
        let norm = dot(vector, vector).sqrt();
        for (found, x) in found.iter().zip(vector) {
            let expected = if norm == 0.0 { 0.0 } else { f64::from(*x) / norm };
            assert!((f64::from(*found) - expected).abs() < 1e-7, "{found} for {expected}");
        }
        found
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    if norms == 0.0 { 0.0 } else { dot(a, b) / norms }
}

/// A cache and a [`NaiveCache`] with the same operations. Every method compares the answers;
/// [`Lockstep::compare`] compares the contents.
#[derive(Debug)]
pub struct Lockstep {
    /// The cache.
    pub cache: VectorCache,
    /// The present time.
    pub now: Duration,
    naive: NaiveCache,
    /// The maximum number of vectors since memory was released.
    peak: usize,
}

#[expect(missing_docs, reason = "the names are those of the cache")]
impl Lockstep {
    /// Returns one with two empty caches.
    pub fn new(options: CacheOptions, now: Duration) -> Self {
        let cache = VectorCache::new(options);
        Self { cache, now, naive: NaiveCache::new(options), peak: 0 }
    }

    pub fn add(&mut self, vector: &[f32], id: Option<&str>) {
        let id = id.map(|id| Id::new(id).expect("a short id"));
        self.cache.add(vector, id.clone(), self.now).expect("a vector");
        self.naive.add(vector, id, self.now);
        self.peak = self.peak.max(self.naive.known.len());
    }

    pub fn nearest(&mut self, query: &[f32]) {
        let found = self.cache.nearest(query, self.now).expect("a query");
        self.assert_nearest(found, query);
    }

    pub fn similar(&mut self, query: &[f32], k: NonZeroUsize, at_least: f64) {
        let found = self.cache.similar(query, k, at_least, self.now).expect("a query");
        assert_eq!(found, self.naive.similar(query, k.get(), at_least, self.now));
    }

    fn assert_nearest(&mut self, found: Option<Nearest>, query: &[f32]) {
        assert_eq!(found, self.naive.nearest(query, self.now));
        let cosines = self.naive.known.iter().map(|known| cosine(&known.vector, query));
        let expected = cosines.reduce(f64::max).unwrap_or(0.0);
        let found = found.map_or(0.0, |nearest| nearest.similarity);
        assert!((-1.0..=1.0).contains(&found), "{found}");
        assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
    }

    pub fn remove(&mut self, id: &str) {
        assert_eq!(self.cache.remove(id, self.now), self.naive.remove(id, self.now));
    }

    pub fn evict_expired(&mut self) {
        self.cache.evict_expired(self.now);
    }

    pub fn clear(&mut self) {
        self.cache.clear();
        self.naive.clear();
        assert_eq!(self.cache.memory(), 0);
        self.peak = 0;
    }

    /// Continues with a cache restored from this one.
    pub fn restart(&mut self, restored: VectorCache, now: Duration) {
        // Vectors too old for the new bounds still took memory.
        self.peak = self.naive.known.len().min(restored.options().max_elements);
        self.naive.restart(restored.options(), self.now, now);
        (self.cache, self.now) = (restored, now);
    }

    /// Compares the contents of the caches.
    pub fn compare(&mut self) {
        let mut ids = 0;
        let found = self.cache.entries(self.now);
        let expected = self.naive.entries(self.now);
        assert_eq!(found.len(), expected.len());
        for ((found, row), (expected, expected_row)) in found.zip(expected) {
            assert_eq!(found, expected);
            let mut pairs = row.iter().zip(expected_row);
            assert!(pairs.all(|(x, y)| x.to_bits() == y.to_bits()), "{row:?} for {expected_row:?}");
            ids += expected.id.map_or(0, |id| id.len());
        }
        let count = self.naive.known.len();
        assert_eq!(self.cache.len(self.now), count);
        let row = self.cache.options().vector_len.next_multiple_of(16) * 4;
        let memory = self.cache.memory();
        assert!(memory >= count * row + ids, "{memory} bytes are too few");
        let most = 2 * self.peak.max(16) * (row + 64) + ids;
        assert!(memory <= most, "{memory} bytes are more than {most}");
    }
}
