//! Native memory that a garbage collector has to be told of.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

/// The bytes that all owners of an environment hold.
pub type Ledger = Arc<AtomicI64>;

/// The bytes that one owner holds, on any thread: 0 at first, and once it is dropped.
#[derive(Debug, Default)]
pub struct Held {
    ledger: Ledger,
    bytes: i64,
}

impl Held {
    /// Returns an owner of 0 bytes.
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone(), bytes: 0 }
    }

    /// Changes the number of bytes.
    pub fn set(&mut self, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.ledger.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
        self.bytes = bytes;
    }

    /// Adds to the number of bytes.
    pub fn add(&mut self, bytes: usize) {
        self.set(bytes.saturating_add(self.bytes as usize));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}
