//! A scorer: a memory, and the order in which calls use it.
//!
//! Embedding runs concurrently on the worker threads. Whatever depends on the memory runs in the order of
//! the calls: an embedding waits until all calls before it have been settled.
//!
//! # Locks
//!
//! - The order of calls and the statistics are locked for a few instructions; the statistics also while the order
//!   is locked, never the other way round.
//! - The own memory is locked during a search, with no other lock held; so is the mirror of a store, under
//!   which only the queue of the store is locked.
//! - A call is answered, and dropped, while no lock is held.

mod answer;
mod memory;
mod report;
mod shared;
mod statistics;
mod turns;

pub use answer::{CallHandle, Input, Query, Reply, Work};
pub use memory::OwnMemory;
pub use report::{Found, Outcome, Report, Times};
pub use shared::{Change, Page, Request, SharedMemory, StoredEntry, Taker};
pub use statistics::Statistics;
pub use turns::{Scorer, ScorerOptions};

pub use crate::clock::monotonic_clock;
