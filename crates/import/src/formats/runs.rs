//! Runs whose records are spread over an input.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::{
    detection::{ReadRuns, Runs},
    events::{Event, Run},
    json::{Members, Value},
    reader::MAX_BYTES,
    time,
};

/// Reads a log in which one session follows another.
pub struct SessionReader {
    /// Returns the key of the session that a record begins, or `None` if it begins none.
    pub begins: fn(Value<'_>) -> Option<Option<&str>>,
    /// Reads a record into its session.
    pub read: fn(Value, &mut Run),
    pub sessions: Sessions,
}

impl ReadRuns for SessionReader {
    fn read(&mut self, record: Value, line: u64, out: &mut Runs) {
        if let Some(key) = (self.begins)(record) {
            self.sessions.begin(key, line, out);
        }
        self.sessions.read(record, line, out, |run| (self.read)(record, run));
    }

    fn finish(&mut self, out: &mut Runs) {
        self.sessions.finish(out);
    }
}

/// The sessions of a log.
#[derive(Default)]
pub struct Sessions {
    /// The open session, and the size of its events in bytes.
    open: Option<(Run, usize)>,
}

impl Sessions {
    /// Ends the open session, and begins another.
    pub fn begin(&mut self, key: Option<&str>, line: u64, out: &mut Runs) {
        self.finish(out);
        self.open = Some((Run { key: key.map(Into::into), ..Run::at(line) }, 0));
    }

    /// Reads a record into its session. A record before the first session begins one.
    pub fn read(&mut self, record: Value, line: u64, out: &mut Runs, read: impl FnOnce(&mut Run)) {
        let (run, size) = self.open.get_or_insert_with(|| (Run::at(line), 0));
        if run.created_at.is_none() {
            run.created_at = record.member("timestamp").and_then(time::utc);
        }
        let begin = run.events.len();
        read(run);
        let was_too_large = *size > MAX_BYTES;
        *size += run.events.iter().skip(begin).map(Event::size).sum::<usize>();
        if *size > MAX_BYTES {
            // The rest of the session is read, so that it does not look like another one.
            *run = Run::at(run.line);
            if !was_too_large {
                out.too_large(run.line);
            }
        }
    }

    /// Ends the open session.
    pub fn finish(&mut self, out: &mut Runs) {
        if let Some((run, size)) = self.open.take()
            && size <= MAX_BYTES
        {
            out.run(run);
        }
    }
}

/// The most runs of an input that are open side by side.
const MAX_OPEN: usize = 64;

/// Runs whose records are interleaved in one input.
pub struct OpenRuns<T> {
    /// By their numbers, with the time of their last record.
    runs: HashMap<u32, (T, u64)>,
    begun: u32,
    clock: u64,
}

impl<T> Default for OpenRuns<T> {
    fn default() -> Self {
        Self { runs: HashMap::new(), begun: 0, clock: 0 }
    }
}

impl<T> OpenRuns<T> {
    /// Begins a run. Returns its number, and the run that is closed because too many are open: the one whose
    /// last record is longest ago.
    pub fn begin(&mut self, run: T) -> (u32, Option<T>) {
        let oldest = || self.runs.iter().min_by_key(|(_, (_, used))| *used).map(|(id, _)| *id);
        let closed = if self.runs.len() < MAX_OPEN { None } else { oldest() };
        let closed = closed.and_then(|id| self.runs.remove(&id)).map(|(run, _)| run);
        let number = self.begun;
        self.begun += 1;
        self.clock += 1;
        self.runs.insert(number, (run, self.clock));
        (number, closed)
    }

    /// Returns a run for its next record; `None` if it is closed.
    pub fn get(&mut self, number: u32) -> Option<&mut T> {
        let (run, used) = self.runs.get_mut(&number)?;
        self.clock += 1;
        *used = self.clock;
        Some(run)
    }

    /// Discards a run.
    pub fn close(&mut self, number: u32) {
        self.runs.remove(&number);
    }

    /// Closes all runs, in the order in which they began.
    pub fn close_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        let mut runs: Vec<_> = self.runs.drain().collect();
        runs.sort_by_key(|(number, _)| *number);
        runs.into_iter().map(|(_, (run, _))| run)
    }
}

/// Numbers by ids, of which a log may have millions: only hashes of 64 bits are kept. Two of a million ids have
/// the same with a probability of 1 in 37 million.
#[derive(Default)]
pub struct Ids(HashMap<u64, u32>);

impl Ids {
    /// Returns the number of an id.
    pub fn get(&self, id: &str) -> Option<u32> {
        self.0.get(&hash(id)).copied()
    }

    /// Sets the number of an id. Returns the previous one.
    pub fn insert(&mut self, id: &str, number: u32) -> Option<u32> {
        self.0.insert(hash(id), number)
    }
}

fn hash(id: &str) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&Sha256::digest(id)[..8]);
    u64::from_le_bytes(bytes)
}
