//! Requests to a store, and its pages.

use std::time::Duration;

use crate::{cache::VectorCache, error::Result, id::Id};

/// The request of one call in a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Append a change.
    Append(Change),
    /// Append nothing, but read everything.
    Read,
}

/// A change of the memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Add a vector.
    Add {
        /// The id of its trace.
        id: Option<Id>,
        /// The vector; `None` if the call is of this scorer, or a later [`Change::Forget`] has erased it.
        vector: Option<Box<[f32]>>,
    },
    /// Remove the vectors with this id. `None` for an id that no vector has, because it is too long.
    Forget(Option<Id>),
    /// Remove all vectors.
    Clear,
}

impl Change {
    /// Makes the change in a cache; without a vector of its own, it adds this one. Returns how many vectors it removed,
    /// if it removes.
    pub(crate) fn apply(
        self,
        cache: &mut VectorCache,
        vector: &[f32],
        now: Duration,
    ) -> Result<Option<usize>> {
        Ok(match self {
            Self::Add { id, vector: own } => {
                cache.add(own.as_deref().unwrap_or(vector), id, now)?;
                None
            }
            Self::Forget(id) => Some(id.map_or(0, |id| cache.remove(&id, now))),
            Self::Clear => {
                let removed = cache.len(now);
                cache.clear();
                Some(removed)
            }
        })
    }
}

/// A change in its place in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// Its number, from 1, without gaps.
    pub seq: u64,
    /// When it was appended, by the clock of the store; never earlier than the entry before.
    pub at: Duration,
    /// The UUID of its call.
    pub call: Box<str>,
    /// The change.
    pub change: Change,
    /// The call of the current batch that appended it.
    pub own: Option<usize>,
}

/// Consecutive entries of a store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// Changes if the history of the store changes.
    pub epoch: String,
    /// The number of the newest entry, or 0.
    pub head: u64,
    /// The number of the oldest entry that is kept; 1 if none was deleted.
    pub first: u64,
    /// Whether the entries start with the oldest one, instead of the one after those applied before.
    pub reset: bool,
    /// The entries, the oldest first.
    pub entries: Vec<StoredEntry>,
}
