//! Runs whose records stand side by side in one input.

use std::collections::HashMap;

/// How many runs are open side by side.
const MAX_OPEN: usize = 64;

/// The runs of an input that are open.
pub struct OpenRuns<T> {
    runs: HashMap<u32, Open<T>>,
    begun: u32,
    clock: u64,
}

struct Open<T> {
    run: T,
    last_used: u64,
}

impl<T> Default for OpenRuns<T> {
    fn default() -> Self {
        Self { runs: HashMap::new(), begun: 0, clock: 0 }
    }
}

impl<T> OpenRuns<T> {
    /// Begins a run. Returns its number, and the run that is closed in its favour: the one whose last
    /// record is longest ago.
    pub fn begin(&mut self, run: T) -> (u32, Option<T>) {
        let oldest = || self.runs.iter().min_by_key(|(_, open)| open.last_used).map(|(id, _)| *id);
        let closed = if self.runs.len() < MAX_OPEN { None } else { oldest() };
        let closed = closed.and_then(|id| self.runs.remove(&id)).map(|open| open.run);
        let number = self.begun;
        self.begun += 1;
        self.clock += 1;
        self.runs.insert(number, Open { run, last_used: self.clock });
        (number, closed)
    }

    /// Returns a run for its next record; `None` if it is closed.
    pub fn get(&mut self, number: u32) -> Option<&mut T> {
        let open = self.runs.get_mut(&number)?;
        self.clock += 1;
        open.last_used = self.clock;
        Some(&mut open.run)
    }

    /// Closes a run, as one that has become too large.
    pub fn close(&mut self, number: u32) {
        self.runs.remove(&number);
    }

    /// Closes all runs, in the order in which they began.
    pub fn close_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        let mut runs: Vec<_> = self.runs.drain().collect();
        runs.sort_by_key(|(number, _)| *number);
        runs.into_iter().map(|(_, open)| open.run)
    }
}

/// Numbers by ids: of runs by their records, of events by their calls. A log may have millions: ids are
/// remembered as hashes of 64 bits, of which a million are all different but for one case in 30 million.
#[derive(Default)]
pub struct Ids(HashMap<u64, u32>);

impl Ids {
    /// Returns the number of an id.
    pub fn get(&self, id: &str) -> Option<u32> {
        self.0.get(&hash(id)).copied()
    }

    /// Sets the number of an id. Returns the one that it had.
    pub fn insert(&mut self, id: &str, number: u32) -> Option<u32> {
        self.0.insert(hash(id), number)
    }
}

fn hash(id: &str) -> u64 {
    use sha2::{Digest, Sha256};
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&Sha256::digest(id)[..8]);
    u64::from_le_bytes(bytes)
}
