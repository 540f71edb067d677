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

/// What a format keeps of a session while its records are read.
pub trait Session: Default + Send {
    /// Returns the key of the session that a record begins, or `None` if it belongs to the open one.
    fn begins<'d>(record: Value<'d>, open: Option<&Run>) -> Option<Option<&'d str>> {
        let _ = (record, open);
        None
    }

    /// Returns the time of a record. The first one is that of the session.
    fn time(record: Value<'_>) -> Option<Value<'_>> {
        record.member("timestamp")
    }

    /// Reads a record.
    fn read(&mut self, record: Value, run: &mut Run);

    /// Returns the size in bytes of what is kept here and not in the run.
    fn size(&self) -> usize {
        0
    }

    /// Ends the session.
    fn end(self, run: Run, out: &mut Runs) {
        out.run(run);
    }
}

/// Reads a log in which one session follows another.
#[derive(Default)]
pub struct SessionReader<S> {
    open: Option<OpenSession<S>>,
}

struct OpenSession<S> {
    run: Run,
    session: S,
    /// The size of its events in bytes; `None` if there were too many.
    size: Option<usize>,
}

impl<S: Session> OpenSession<S> {
    fn begin(key: Option<&str>, line: u64) -> Self {
        let run = Run { key: key.map(Into::into), ..Run::at(line) };
        Self { run, session: S::default(), size: Some(0) }
    }
}

impl<S: Session> ReadRuns for SessionReader<S> {
    /// Reads a record into its session. A record before the first session begins one.
    fn read(&mut self, record: Value, line: u64, out: &mut Runs) {
        if let Some(key) = S::begins(record, self.open.as_ref().map(|open| &open.run)) {
            self.finish(out);
            self.open = Some(OpenSession::begin(key, line));
        }
        let open = self.open.get_or_insert_with(|| OpenSession::begin(None, line));
        // The rest of a session that is too large is passed over, so that it does not look like another one.
        let (Some(size), run) = (&mut open.size, &mut open.run) else { return };
        if run.created_at.is_none() {
            run.created_at = S::time(record).and_then(time::utc);
        }
        let begin = run.events.len();
        open.session.read(record, run);
        *size += run.events.iter().skip(begin).map(Event::size).sum::<usize>();
        if *size + open.session.size() > MAX_BYTES {
            out.too_large(run.line);
            let begun = OpenSession::begin(run.key.as_deref(), run.line);
            *open = OpenSession { size: None, ..begun };
        }
    }

    fn finish(&mut self, out: &mut Runs) {
        if let Some(OpenSession { run, session, size: Some(_) }) = self.open.take() {
            session.end(run, out);
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

/// A run whose records name it by an id.
pub trait Trace: Send {
    /// Begins a trace whose first record begins at `line`.
    fn begin(id: &str, line: u64) -> Self;

    /// Ends the trace.
    fn end(self, out: &mut Runs);
}

/// Traces whose records are interleaved in one input.
pub struct Traces<T> {
    open: OpenRuns<OpenTrace<T>>,
    ids: Ids,
}

struct OpenTrace<T> {
    trace: T,
    line: u64,
    /// The size of its records in bytes.
    size: usize,
}

impl<T> Default for Traces<T> {
    fn default() -> Self {
        Self { open: OpenRuns::default(), ids: Ids::default() }
    }
}

impl<T: Trace> Traces<T> {
    /// Adds a record to the trace with this id, unless that is closed. `add` returns the size of the record in
    /// bytes.
    pub fn add(
        &mut self,
        id: &str,
        line: u64,
        out: &mut Runs,
        add: impl FnOnce(&mut T, &mut Runs) -> usize,
    ) {
        let number = self.ids.get(id).unwrap_or_else(|| {
            let begun = OpenTrace { trace: T::begin(id, line), line, size: 0 };
            let (number, closed) = self.open.begin(begun);
            self.ids.insert(id, number);
            if let Some(closed) = closed {
                closed.trace.end(out);
            }
            number
        });
        let Some(open) = self.open.get(number) else { return out.skip("late") };
        open.size += add(&mut open.trace, out);
        if open.size > MAX_BYTES {
            out.too_large(open.line);
            self.open.close(number);
        }
    }

    /// Ends all traces.
    pub fn finish(&mut self, out: &mut Runs) {
        self.open.close_all().for_each(|open| open.trace.end(out));
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
