//! The rows with the greatest values in a search.

use std::{cmp::Ordering, collections::HashSet};

use super::VectorCache;

/// The `k` greatest of the offered values that are at least a minimum; among equals, those offered first.
#[derive(Debug)]
pub struct Best<'a> {
    k: usize,
    at_least: f64,
    /// The next row must have a greater value.
    bar: f32,
    /// The rows taken, and up to `k` more since they were last sorted.
    taken: Vec<(usize, f32)>,
    /// The number of rows at which they are sorted next.
    full: usize,
    /// The rows are of this cache, and of those with one id only the greatest is taken.
    ids: Option<&'a VectorCache>,
}

impl<'a> Best<'a> {
    /// Returns an empty list of up to `k` rows, at least 1, with values of at least `at_least`.
    pub fn new(k: usize, at_least: f64) -> Self {
        let bar = at_least as f32;
        let bar = if f64::from(bar) < at_least { bar } else { bar.next_down() };
        Self { k, at_least, bar, taken: Vec::new(), full: k, ids: None }
    }

    /// Takes only the greatest of the rows with one id, which are of this cache.
    pub fn of_ids(self, cache: &'a VectorCache) -> Self {
        Self { ids: Some(cache), ..self }
    }

    /// Returns whether a row with this value, offered now, can be among the best.
    #[inline(always)]
    pub fn takes(&self, value: f32) -> bool {
        value > self.bar
    }

    /// Offers a row. Rows must be offered in order of age, the oldest first.
    pub fn offer(&mut self, slot: usize, value: f32) {
        if !self.takes(value) {
            return;
        }
        self.taken.push((slot, value));
        // Not after each row, because `k` may be large.
        if self.taken.len() == self.full {
            self.sort();
        }
    }

    /// Sorts the rows, and drops those after the first `k`.
    fn sort(&mut self) {
        // Stable, so that of equals the one offered first stays first. Values are numbers, and 0 equals -0.
        self.taken.sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
        if let Some(cache) = self.ids {
            let mut ids = HashSet::new();
            self.taken.retain(|(slot, _)| cache.id_in(*slot).is_none_or(|id| ids.insert(id)));
        }
        self.taken.truncate(self.k);
        self.full = self.taken.len().saturating_add(self.k);
        if let Some((_, last)) = self.taken.get(self.k - 1) {
            self.bar = *last;
        }
    }

    /// Returns a lower bound of the best values. It never falls: a row with a lesser value is out for good.
    pub fn least(&self) -> f64 {
        self.at_least.max(self.bar.into())
    }

    /// Returns slots and values, the greatest first; among equals, the one offered first.
    pub fn into_rows(mut self) -> impl Iterator<Item = (usize, f32)> {
        self.sort();
        self.taken.into_iter()
    }
}
