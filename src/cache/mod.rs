//! A bounded first-in-first-out store of vectors with an optional time to live.
//!
//! A leaf: it knows nothing of traces or embedders, and never reads the clock. Vectors are kept
//! normalised, row by row, in one ring; the ages of a ring rise from its end to its start, so only
//! the start can expire. A row is a vector, padded with zeros to whole SIMD registers.

mod similarity;

use std::{collections::VecDeque, time::Duration};

use crate::error::{Error, Result};
use similarity::{max_dot, normalize_into, row_length};

/// How a [`VectorCache`] is bounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheOptions {
    /// Capacity in vectors, at least 1. The oldest makes room for one more. Default 1,000.
    pub max_elements: usize,
    /// Length of every vector, at least 1. Default 384.
    pub dimensions: usize,
    /// Age at which a vector is gone, measured from its addition. Default: never.
    pub ttl: Option<Duration>,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self { max_elements: 1000, dimensions: 384, ttl: None }
    }
}

/// Vectors to compare new ones with.
///
/// Every method takes the present time, as the duration since some fixed moment; it must not run
/// backwards.
#[derive(Debug)]
pub struct VectorCache {
    options: CacheOptions,
    /// Numbers in a row.
    row: usize,
    /// `slots` rows; vector `i` lies in slot `(start + i) % slots`.
    rows: Vec<f32>,
    start: usize,
    /// When each vector was added, the oldest first.
    added: VecDeque<Duration>,
}

impl VectorCache {
    /// An empty cache.
    ///
    /// # Errors
    ///
    /// `INVALID_OPTION` when capacity or dimensions are 0.
    pub fn new(options: CacheOptions) -> Result<Self> {
        for (name, value) in
            [("maxElements", options.max_elements), ("dimensions", options.dimensions)]
        {
            if value == 0 {
                return Err(Error::invalid_option(name, "a positive integer", value));
            }
        }
        let row = row_length(options.dimensions);
        Ok(Self { options, row, rows: Vec::new(), start: 0, added: VecDeque::new() })
    }

    /// The bounds that it was made with.
    pub fn options(&self) -> CacheOptions {
        self.options
    }

    /// How many vectors are alive.
    pub fn len(&mut self, now: Duration) -> usize {
        self.evict_expired(now);
        self.added.len()
    }

    /// Adds a vector; the oldest goes when the cache is full. Takes the same time at any size.
    ///
    /// # Errors
    ///
    /// `INVALID_VECTOR` for another length, or for a number that is not finite.
    pub fn add(&mut self, vector: &[f32], now: Duration) -> Result<()> {
        self.check(vector)?;
        self.evict_expired(now);
        if self.added.len() == self.options.max_elements {
            self.pop_oldest();
        }
        let slot = self.free_slot();
        normalize_into(&mut self.rows[slot * self.row..][..self.row], vector);
        self.added.push_back(now);
        Ok(())
    }

    /// The greatest cosine similarity of `query` to a vector alive, in \[-1, 1\]; `None` when
    /// there is none. A zero vector has similarity 0 to everything.
    ///
    /// # Errors
    ///
    /// `INVALID_VECTOR` for another length, or for a number that is not finite.
    pub fn max_cosine_similarity(&mut self, query: &[f32], now: Duration) -> Result<Option<f64>> {
        self.check(query)?;
        self.evict_expired(now);
        if self.added.is_empty() {
            return Ok(None);
        }
        let mut row = vec![0.0; self.row];
        normalize_into(&mut row, query);
        let greatest =
            self.alive().into_iter().filter_map(|rows| max_dot(&row, rows)).reduce(f32::max);
        // Rounding can carry the similarity of equal vectors past 1.
        Ok(greatest.map(|similarity| f64::from(similarity).clamp(-1.0, 1.0)))
    }

    /// Drops what is as old as the time to live, or older.
    pub fn evict_expired(&mut self, now: Duration) {
        let Some(ttl) = self.options.ttl else { return };
        while self.added.front().is_some_and(|added| now.saturating_sub(*added) >= ttl) {
            self.pop_oldest();
        }
    }

    /// How many bytes the vectors take, room for more included.
    pub fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<f32>() + self.added.capacity() * size_of::<Duration>()
    }

    /// Drops everything and gives the memory back.
    pub fn clear(&mut self) {
        self.rows = Vec::new();
        self.added = VecDeque::new();
        self.start = 0;
    }

    fn slots(&self) -> usize {
        self.rows.len() / self.row
    }

    /// The rows alive, in the two pieces that the ring may have.
    fn alive(&self) -> [&[f32]; 2] {
        let end = self.start + self.added.len();
        let wrapped = end.saturating_sub(self.slots());
        [
            &self.rows[self.start * self.row..(end - wrapped) * self.row],
            &self.rows[..wrapped * self.row],
        ]
    }

    fn pop_oldest(&mut self) {
        self.added.pop_front();
        self.start = (self.start + 1) % self.slots();
    }

    /// The slot for one more vector, of which there must be fewer than the capacity.
    fn free_slot(&mut self) -> usize {
        let slots = self.slots();
        if self.added.len() == slots {
            self.rows.rotate_left(self.start * self.row);
            self.start = 0;
            let slots = (slots * 2).clamp(16, self.options.max_elements.max(16));
            self.rows.resize(slots.min(self.options.max_elements) * self.row, 0.0);
        }
        (self.start + self.added.len()) % self.slots()
    }

    fn check(&self, vector: &[f32]) -> Result<()> {
        if vector.len() != self.options.dimensions {
            return Err(Error::dimensions(self.options.dimensions, vector.len()));
        }
        match vector.iter().position(|x| !x.is_finite()) {
            Some(at) => {
                let place = format!("vector[{at}]");
                let found = match vector[at] {
                    f32::INFINITY => "Infinity",
                    f32::NEG_INFINITY => "-Infinity",
                    _ => "NaN",
                };
                Err(Error::invalid_vector(place, "a finite float32", found))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
