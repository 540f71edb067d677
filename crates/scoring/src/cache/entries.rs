//! The vectors of a cache one by one: to take some out, and to carry all from one process to another.

use std::{sync::Arc, time::Duration};

use super::{CacheOptions, VectorCache, bytes_of};
use crate::error::Result;

/// One vector of a cache, and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<V = Vec<f32>> {
    /// As long as the cache says, and normalised to length 1, or all zero.
    pub vector: V,
    /// The time since its addition.
    pub age: Duration,
    /// What it is called.
    pub id: Option<Arc<str>>,
}

impl VectorCache {
    /// Drops every vector alive that has this `id`; returns how many. The others keep order and age.
    pub fn remove(&mut self, id: &str, now: Duration) -> usize {
        self.evict_expired(now);
        let (slots, count) = (self.slots(), self.added.len());
        let mut kept = 0;
        for i in 0..count {
            if self.ids[i].as_deref() == Some(id) {
                self.id_bytes -= bytes_of(&self.ids[i]);
                continue;
            }
            if kept < i {
                let [from, to] = [i, kept].map(|i| (self.start + i) % slots);
                self.rows.copy_within(from * self.row..(from + 1) * self.row, to * self.row);
                if let Some(codes) = &mut self.codes {
                    codes.copy(from, to);
                }
                self.added.swap(i, kept);
                self.ids.swap(i, kept);
            }
            kept += 1;
        }
        self.added.truncate(kept);
        self.ids.truncate(kept);
        count - kept
    }

    /// Returns the vectors alive, the oldest first.
    pub fn entries(&mut self, now: Duration) -> impl ExactSizeIterator<Item = Entry<&[f32]>> {
        self.evict_expired(now);
        let (cache, now) = (&*self, self.at(now));
        (0..cache.added.len()).map(move |i| {
            let slot = (cache.start + i) % cache.slots();
            Entry {
                vector: &cache.rows[slot * cache.row..][..cache.options.vector_len],
                age: now.saturating_sub(cache.added[i]),
                id: cache.ids[i].clone(),
            }
        })
    }

    /// Returns a cache of the `entries` that [`VectorCache::entries`] gave, which go on ageing from `now`.
    /// Its similarities are the same to the bit. The bounds may be others than before: what is too
    /// old for them goes, then the oldest of what is too much.
    ///
    /// # Errors
    ///
    /// `INVALID_OPTION` when the capacity or the length of vectors is 0.
    ///
    /// # Panics
    ///
    /// When a vector is of another length.
    pub(crate) fn restore(
        options: CacheOptions,
        entries: impl IntoIterator<Item = Entry<impl AsRef<[f32]>>>,
        now: Duration,
    ) -> Result<Self> {
        let mut cache = Self::new(options)?;
        let mut entries = entries.into_iter().peekable();
        cache.shift = entries.peek().map_or(Duration::ZERO, |oldest| oldest.age);
        let mut row = Vec::new();
        for Entry { vector, age, id } in entries {
            let added = cache.at(now).saturating_sub(age);
            row.clear();
            row.extend_from_slice(vector.as_ref());
            row.resize(cache.row, 0.0);
            cache.push(added, id, &row);
        }
        cache.evict_expired(now);
        Ok(cache)
    }
}
