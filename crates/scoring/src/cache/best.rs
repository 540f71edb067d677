//! The rows with the greatest values in a search.

use std::{cmp::Ordering, collections::BinaryHeap};

/// The `k` greatest of the offered values that are at least a minimum; among equals, those offered first.
#[derive(Debug)]
pub struct Best {
    k: usize,
    at_least: f64,
    /// The next row must have a greater value.
    bar: f32,
    /// The rows taken, the worst on top.
    taken: BinaryHeap<Taken>,
    offered: usize,
}

#[derive(Debug, Clone, Copy)]
struct Taken {
    slot: usize,
    value: f32,
    /// The number of rows taken before it.
    turn: usize,
}

impl Ord for Taken {
    /// The worst row is the greatest, so that the heap drops it first: the lesser value, or of equal
    /// values the later one.
    fn cmp(&self, other: &Self) -> Ordering {
        // Values are numbers; 0 and -0 are equal, as they are in a comparison.
        let by_value = other.value.partial_cmp(&self.value).unwrap_or(Ordering::Equal);
        by_value.then(self.turn.cmp(&other.turn))
    }
}

impl PartialOrd for Taken {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Taken {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Taken {}

impl Best {
    /// Returns an empty list of up to `k` rows, at least 1, with values of at least `at_least`.
    pub fn new(k: usize, at_least: f64) -> Self {
        let bar = at_least as f32;
        let bar = if f64::from(bar) < at_least { bar } else { bar.next_down() };
        Self { k, at_least, bar, taken: BinaryHeap::new(), offered: 0 }
    }

    /// Returns an empty list for the same number of rows, with values of at least `at_least`.
    pub fn like(&self, at_least: f64) -> Self {
        Self::new(self.k, at_least)
    }

    /// Returns whether a row with this value, offered now, is among the best so far.
    #[inline(always)]
    pub fn takes(&self, value: f32) -> bool {
        value > self.bar
    }

    /// Offers a row. Rows must be offered in order of age, the oldest first.
    pub fn offer(&mut self, slot: usize, value: f32) {
        if !self.takes(value) {
            return;
        }
        let taken = Taken { slot, value, turn: self.offered };
        self.offered += 1;
        if self.taken.len() < self.k {
            self.taken.push(taken);
        } else if let Some(mut last) = self.taken.peek_mut() {
            *last = taken;
        }
        if self.taken.len() == self.k {
            self.bar = self.taken.peek().map_or(self.bar, |last| last.value);
        }
    }

    /// Returns a lower bound of the best values. It never falls: a row with a lesser value is out for good.
    pub fn least(&self) -> f64 {
        if self.taken.len() < self.k { self.at_least } else { self.bar.into() }
    }

    /// Returns slots and values, the greatest first; among equals, the one offered first.
    pub fn into_rows(self) -> impl Iterator<Item = (usize, f32)> {
        self.taken.into_sorted_vec().into_iter().map(|taken| (taken.slot, taken.value))
    }
}
