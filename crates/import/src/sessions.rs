//! Runs whose records are spread over an input.

use std::{collections::BTreeMap, mem};

use crate::{
    format::{FormatReader, Sink},
    ids::Ids,
    json::{MAX_TEXT, Members, Value},
    limits::TOO_MUCH_TEXT,
    run::Run,
};

/// What is known of a run beside what its records gave it.
pub trait State: Default + Send + 'static {
    /// Returns whether a run can come of it. Without one, it takes no place of those with one.
    fn has_run(&self) -> bool {
        true
    }

    /// Returns its size in bytes.
    fn size(&self) -> usize {
        0
    }

    fn end(self, run: Run, out: &mut Sink) {
        out.run(run);
    }
}

impl State for () {}

/// How the records of a log make sessions, of which one follows another.
pub struct Rules<S> {
    /// Returns the key of the session that a record begins; `None` if it belongs to that with this state and this key.
    pub begins: for<'d> fn(&S, Value<'d>, Option<&str>) -> Option<Option<&'d str>>,
    /// Returns whether a record of this type is one of this session; see [`FormatReader::takes`].
    pub takes: fn(&S, Value, &str) -> bool,
    /// Returns the time of a record. The first one is that of the session.
    pub time: for<'d> fn(Value<'d>) -> Option<Value<'d>>,
    pub read: fn(&mut S, Value, &mut Run),
}

impl<S> Rules<S> {
    /// Returns the rules of a log that is one session, whose records have a `timestamp`.
    pub fn of(read: fn(&mut S, Value, &mut Run)) -> Self {
        Self {
            begins: |_, _, _| None,
            takes: |_, _, _| false,
            time: |record| record.member("timestamp"),
            read,
        }
    }
}

/// Returns the key of a session that another one begins: each record has it.
pub fn another<'d>(key: Option<&'d str>, open: Option<&str>) -> Option<Option<&'d str>> {
    (key != open).then_some(key)
}

/// Reads a log in which one session follows another.
struct Sessions<S> {
    rules: Rules<S>,
    runs: Interleaved<S>,
    /// The number and the key of the session that goes on.
    open: Option<(u32, Option<String>)>,
}

/// Returns a reader of sessions, for [`Format::open`](crate::format::Format::open).
pub fn sessions<S: State>(rules: Rules<S>) -> Box<dyn FormatReader> {
    Box::new(Sessions { rules, runs: Interleaved::default(), open: None })
}

impl<S: State> Sessions<S> {
    /// Returns the session that goes on; `None` if there is none, or if it was too large.
    fn session(&self) -> Option<&S> {
        let (number, _) = self.open.as_ref()?;
        self.runs.runs.get(number).map(|open| &open.state)
    }
}

impl<S: State> FormatReader for Sessions<S> {
    fn takes(&self, record: Value) -> bool {
        let kind = record.text("type").unwrap_or_default();
        (self.rules.takes)(self.session().unwrap_or(&S::default()), record, kind)
    }

    /// Reads a record into its session. A record before the first session begins one.
    fn read(&mut self, record: Value, out: &mut Sink) {
        let open_key = self.open.as_ref().and_then(|(_, key)| key.as_deref());
        let session = self.session();
        let begun = (self.rules.begins)(session.unwrap_or(&S::default()), record, open_key);
        // The rest of a session that is too large is skipped, so that it does not become another one.
        let begun = begun.filter(|key| session.is_some() || *key != open_key);
        let number = match (begun, &self.open) {
            (None, Some((number, _))) => *number,
            (key, _) => {
                let key = key.flatten();
                self.runs.end_all(out);
                let number = self.runs.begin(key, out);
                self.open = Some((number, key.map(Into::into)));
                number
            }
        };
        if self.runs.runs.contains_key(&number) {
            let Rules { time, read, .. } = self.rules;
            self.runs.add(number, out, |state, run, _| {
                run.record(time(record), |run| read(state, record, run));
            });
        }
    }

    fn finish(&mut self, out: &mut Sink) {
        self.runs.end_all(out);
    }
}

/// The maximum number of open runs of an input.
const MAX_OPEN: usize = 64;

/// The maximum size in bytes of what no run can come of so far, but for the last of them.
const MAX_OTHERS: usize = 8 << 20;

/// Runs whose records are interleaved in one input, by their numbers.
#[derive(Default)]
pub struct Interleaved<T> {
    runs: BTreeMap<u32, OpenRun<T>>,
    /// What no run can come of so far, such as the traces of a server beside those of an agent, and its size in bytes.
    others: BTreeMap<u32, Other<T>>,
    size_of_others: usize,
    /// The numbers of runs by the ids in their records.
    pub ids: Ids,
    begun: u32,
    clock: u64,
}

struct OpenRun<T> {
    run: Run,
    state: T,
    used: u64,
}

struct Other<T> {
    key: String,
    line: u64,
    state: T,
}

impl<T: State> Other<T> {
    fn size(&self) -> usize {
        size_of::<Self>() + self.key.len() + self.state.size()
    }

    /// Returns its run, and what is known of it.
    fn open(self, out: &Sink) -> (Run, T) {
        (Run { key: Some(self.key), line: self.line, ..out.begin() }, self.state)
    }
}

impl<T: State> Interleaved<T> {
    /// Begins a run for a record, and returns its number.
    pub fn begin(&mut self, key: Option<&str>, out: &mut Sink) -> u32 {
        self.begun += 1;
        let run = Run { key: key.map(Into::into), ..out.begin() };
        self.open(self.begun, run, T::default(), out);
        self.begun
    }

    /// Opens a run. If too many are open, the least recently used one ends.
    fn open(&mut self, number: u32, run: Run, state: T, out: &mut Sink) {
        let oldest = self.runs.iter().min_by_key(|(_, open)| open.used).map(|(number, _)| *number);
        if let Some(oldest) = oldest.filter(|_| self.runs.len() == MAX_OPEN)
            && let Some(open) = self.runs.remove(&oldest)
        {
            open.state.end(open.run, out);
        }
        self.runs.insert(number, OpenRun { run, state, used: 0 });
    }

    /// Adds a record to a run, unless that has ended.
    pub fn add(
        &mut self,
        number: u32,
        out: &mut Sink,
        add: impl FnOnce(&mut T, &mut Run, &mut Sink),
    ) {
        let Some(open) = self.runs.get_mut(&number) else { return out.skip("late") };
        self.clock += 1;
        open.used = self.clock;
        add(&mut open.state, &mut open.run, out);
        if open.run.size() + open.state.size() > max_text(out) {
            out.too_large(open.run.line, TOO_MUCH_TEXT);
            self.runs.remove(&number);
        }
    }

    /// Like [`Self::add`], for the run with this id, which the record may begin.
    pub fn add_to(&mut self, id: &str, out: &mut Sink, add: impl FnOnce(&mut T, &mut Sink)) {
        let (number, mut other) = match self.ids.get(id) {
            None => {
                self.begun += 1;
                self.ids.insert(id, self.begun);
                (self.begun, Other { key: id.into(), line: out.line, state: T::default() })
            }
            Some(number) => match self.others.remove(&number) {
                None => return self.add(number, out, |state, _, out| add(state, out)),
                Some(other) => {
                    self.size_of_others -= other.size();
                    (number, other)
                }
            },
        };
        add(&mut other.state, out);
        if other.state.has_run() {
            let (run, state) = other.open(out);
            self.open(number, run, state, out);
            self.add(number, out, |_, _, _| ());
        } else if other.state.size() > max_text(out) {
            out.too_large(other.line, TOO_MUCH_TEXT);
        } else {
            self.end_others(out, MAX_OTHERS.saturating_sub(other.size()));
            self.size_of_others += other.size();
            self.others.insert(number, other);
        }
    }

    /// Ends what no run can come of, in the order in which it began, until the rest has at most this size. A later
    /// record of it begins anew.
    fn end_others(&mut self, out: &mut Sink, max: usize) {
        while self.size_of_others > max
            && let Some((_, other)) = self.others.pop_first()
        {
            self.size_of_others -= other.size();
            self.ids.remove(&other.key);
            let (run, state) = other.open(out);
            state.end(run, out);
        }
    }

    /// Ends all runs, in the order in which they began.
    pub fn end_all(&mut self, out: &mut Sink) {
        self.end_others(out, 0);
        mem::take(&mut self.runs).into_values().for_each(|open| open.state.end(open.run, out));
    }
}

fn max_text(out: &Sink) -> usize {
    out.options.max_text.unwrap_or(MAX_TEXT)
}
