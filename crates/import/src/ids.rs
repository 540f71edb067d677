//! Numbers by ids.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher},
};

/// Numbers by ids, of which a log may have millions: only hashes of 64 bits are kept. Two of a million ids have
/// the same with a probability of 1 in 37 million.
#[derive(Debug, Default)]
pub struct Ids(HashMap<u64, u32>);

impl Ids {
    pub fn get(&self, id: &str) -> Option<u32> {
        self.0.get(&hash(id)).copied()
    }

    pub fn insert(&mut self, id: &str, number: u32) -> Option<u32> {
        self.0.insert(hash(id), number)
    }

    pub fn remove(&mut self, id: &str) {
        self.0.remove(&hash(id));
    }

    /// Returns the number of an id, which is `new` for a new one. Without an id, returns `new`.
    pub fn get_or_insert(&mut self, id: Option<&str>, new: impl FnOnce() -> u32) -> u32 {
        match id {
            Some(id) => *self.0.entry(hash(id)).or_insert_with(new),
            None => new(),
        }
    }
}

pub fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id.as_bytes());
    hasher.finish()
}
