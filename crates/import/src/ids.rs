//! Numbers by ids.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher},
};

use crate::events::{Event, Events};

/// Numbers by ids, of which a log may have millions: only hashes of 64 bits are kept. Two of a million ids have
/// the same with a probability of 1 in 37 million.
#[derive(Debug, Default)]
pub struct Ids(HashMap<u64, u32>);

impl Ids {
    /// Adds a call or a result to events. One that repeats the last one with its id, whose place is kept here, takes its
    /// place: a call before it is answered, if it is of the same turn; a result before there is another call.
    /// Returns whether it does.
    pub fn put(&mut self, events: &mut Events, event: Event) -> bool {
        let id = event.id().map(hash);
        let earlier = id.and_then(|id| self.0.get(&id)).map(|place| *place as usize);
        let repeated = earlier.filter(|place| match (&events[*place], &event) {
            (Event::Call(earlier), Event::Call(call)) => earlier.turn == call.turn,
            (earlier, event) => earlier.call().is_none() && event.call().is_none(),
        });
        match (repeated, id) {
            (Some(place), _) => events.replace(place, event),
            (None, id) => {
                self.0.extend(id.map(|id| (id, events.len() as u32)));
                events.push(event);
            }
        }
        repeated.is_some()
    }

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
