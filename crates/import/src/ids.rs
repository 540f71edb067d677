//! Numbers by ids.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::{
    call::first_bits,
    events::{Event, Events},
};

/// Numbers by ids, of which a log may have millions: only hashes of 64 bits are kept. Two of a million ids have
/// the same with a probability of 1 in 37 million.
#[derive(Default)]
pub struct Ids(HashMap<u64, u32>);

impl Ids {
    /// Adds a call or a result to events, or puts it in place of the earlier one with its id, whose place is kept here.
    /// Returns whether there was one.
    pub fn put(&mut self, events: &mut Events, id: Option<String>, mut event: Event) -> bool {
        let place = self.get_or_insert(id.as_deref(), || events.len() as u32) as usize;
        if place == events.len() {
            events.push(event);
            return false;
        }
        if let (Event::Call(earlier), Event::Call(call)) = (&events[place], &mut event) {
            call.turn = earlier.turn;
        }
        events.replace(place, event);
        true
    }

    pub fn get(&self, id: &str) -> Option<u32> {
        self.0.get(&hash(id)).copied()
    }

    pub fn insert(&mut self, id: &str, number: u32) -> Option<u32> {
        self.0.insert(hash(id), number)
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
    first_bits(Sha256::new_with_prefix(id))
}
