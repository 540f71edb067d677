//! The rows with the greatest values in a search.

use std::cmp::Ordering;

/// The `k` greatest of the offered values that are at least a minimum; among equals, those offered first.
#[derive(Debug)]
pub struct Best {
    k: usize,
    at_least: f64,
    /// The next row must have a greater value.
    bar: f32,
    /// The rows taken, and up to `k` more since they were last sorted.
    taken: Vec<(usize, f32)>,
}

impl Best {
    /// Returns an empty list of up to `k` rows, at least 1, with values of at least `at_least`.
    pub fn new(k: usize, at_least: f64) -> Self {
        let bar = at_least as f32;
        let bar = if f64::from(bar) < at_least { bar } else { bar.next_down() };
        Self { k, at_least, bar, taken: Vec::new() }
    }

    /// Returns an empty list for the same number of rows, with values of at least `at_least`.
    pub fn like(&self, at_least: f64) -> Self {
        Self::new(self.k, at_least)
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
        if self.taken.len() == self.k || self.taken.len() >= self.k.saturating_mul(2) {
            self.sort();
        }
    }

    /// Sorts the rows, and drops those after the first `k`.
    fn sort(&mut self) {
        // Stable, so that of equals the one offered first stays first. Values are numbers, and 0 equals -0.
        self.taken.sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
        self.taken.truncate(self.k);
        if let Some((_, last)) = self.taken.get(self.k - 1) {
            self.bar = *last;
        }
    }

    /// Returns a lower bound of the best values. It never falls: a row with a lesser value is out for good.
    pub fn least(&self) -> f64 {
        if self.taken.len() < self.k { self.at_least } else { self.bar.into() }
    }

    /// Returns slots and values, the greatest first; among equals, the one offered first.
    pub fn into_rows(mut self) -> impl Iterator<Item = (usize, f32)> {
        self.sort();
        self.taken.into_iter()
    }
}
