//! Runs whose records are spread over an input.

use std::{
    collections::{BTreeMap, HashMap},
    mem,
};

use sha2::{Digest, Sha256};

use crate::{
    events::{Event, Run, Skipped, TOO_MUCH_TEXT, first_bits},
    format::{ReadRuns, Runs},
    json::{Members, Value},
    reader::MAX_BYTES,
    time,
};

/// The state of a run while its records are read.
pub trait Session: Default + Send {
    /// Reads a value that is a run by itself. Returns whether it is one.
    fn read_whole(_value: Value, _out: &mut Runs) -> bool {
        false
    }

    /// Returns the key of the session that a record begins; `None` if it belongs to this one, whose key is `_open`.
    fn begins<'d>(&self, _record: Value<'d>, _open: Option<&str>) -> Option<Option<&'d str>> {
        None
    }

    /// Returns whether a record belongs to this session, whatever its format is by itself. `_is_next`: whether it
    /// follows another record of this format.
    fn claims(&self, _record: Value, _is_next: bool) -> bool {
        false
    }

    /// Returns the time of a record. The first one is that of the session.
    fn time(record: Value<'_>) -> Option<Value<'_>> {
        record.member("timestamp")
    }

    /// Reads a record of a [`Sessions`].
    fn read(&mut self, _record: Value, _run: &mut Run) {}

    /// Returns the size in bytes of the state outside the run.
    fn size(&self) -> usize {
        0
    }

    fn end(self, run: Run, out: &mut Runs) {
        out.run(run);
    }
}

/// Reads a log in which one session follows another.
#[derive(Default)]
pub struct Sessions<S> {
    runs: OpenRuns<S>,
    /// The number and the key of the session that goes on.
    open: Option<(u32, Option<String>)>,
}

impl<S: Session> Sessions<S> {
    /// Returns the session that goes on; `None` if there is none, or if it was too large.
    fn session(&self) -> Option<&S> {
        let (number, _) = self.open.as_ref()?;
        self.runs.runs.get(number).map(|open| &open.session)
    }
}

impl<S: Session> ReadRuns for Sessions<S> {
    fn claims(&self, record: Value, is_next: bool) -> bool {
        self.session().is_some_and(|session| session.claims(record, is_next))
    }

    /// Reads a record into its session. A record before the first session begins one.
    fn read(&mut self, record: Value, out: &mut Runs) {
        if S::read_whole(record, out) {
            return;
        }
        let open = self.open.as_ref();
        let open_key = open.and_then(|(_, key)| key.as_deref());
        let begun = match self.session() {
            Some(session) => session.begins(record, open_key),
            // The rest of a session that is too large is skipped, so that it does not become another one.
            None => {
                S::default().begins(record, None).filter(|key| open.is_none() || *key != open_key)
            }
        };
        let number = match (begun, open) {
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
            self.runs.add(number, out, |session, run, _| {
                if run.created_at.is_none() {
                    run.created_at = S::time(record).and_then(time::utc);
                }
                session.read(record, run);
            });
        }
    }

    fn finish(&mut self, out: &mut Runs) {
        self.runs.end_all(out);
    }
}

/// The maximum number of open runs of an input.
const MAX_OPEN: usize = 64;

/// Runs whose records are interleaved in one input, by their numbers.
#[derive(Default)]
pub struct OpenRuns<T> {
    runs: BTreeMap<u32, OpenRun<T>>,
    /// The numbers of runs by the ids in their records.
    pub ids: Ids,
    begun: u32,
    clock: u64,
}

struct OpenRun<T> {
    run: Run,
    session: T,
    used: u64,
}

impl<T: Session> OpenRuns<T> {
    /// Begins a run for a record, and returns its number. If too many are open, the least recently used one ends.
    pub fn begin(&mut self, key: Option<&str>, out: &mut Runs) -> u32 {
        let oldest = self.runs.iter().min_by_key(|(_, open)| open.used).map(|(number, _)| *number);
        if let Some(oldest) = oldest.filter(|_| self.runs.len() == MAX_OPEN)
            && let Some(open) = self.runs.remove(&oldest)
        {
            open.session.end(open.run, out);
        }
        self.begun += 1;
        let run = Run { key: key.map(Into::into), ..Run::at(out.line) };
        self.runs.insert(self.begun, OpenRun { run, session: T::default(), used: 0 });
        self.begun
    }

    /// Adds a record to a run, unless that has ended.
    pub fn add(
        &mut self,
        number: u32,
        out: &mut Runs,
        add: impl FnOnce(&mut T, &mut Run, &mut Runs),
    ) {
        let Some(open) = self.runs.get_mut(&number) else { return out.skip("late") };
        self.clock += 1;
        open.used = self.clock;
        add(&mut open.session, &mut open.run, out);
        if open.run.size() + open.session.size() > MAX_BYTES {
            out.too_large(open.run.line, TOO_MUCH_TEXT);
            self.runs.remove(&number);
        }
    }

    /// Like [`Self::add`], for the run with this id, which the record may begin.
    pub fn add_to(&mut self, id: &str, out: &mut Runs, add: impl FnOnce(&mut T, &mut Runs)) {
        let number = self.ids.get(id).unwrap_or_else(|| {
            let number = self.begin(Some(id), out);
            self.ids.insert(id, number);
            number
        });
        self.add(number, out, |trace, _, out| add(trace, out));
    }

    /// Ends all runs, in the order in which they began.
    pub fn end_all(&mut self, out: &mut Runs) {
        mem::take(&mut self.runs).into_values().for_each(|open| open.session.end(open.run, out));
    }
}

/// Numbers by ids, of which a log may have millions: only hashes of 64 bits are kept. Two of a million ids have
/// the same with a probability of 1 in 37 million.
#[derive(Default)]
pub struct Ids(HashMap<u64, u32>);

impl Ids {
    /// Adds a call or a result to a run, or puts it in place of the earlier one with its id, whose place is kept here.
    /// Returns whether there was one.
    pub fn put(&mut self, run: &mut Run, id: Option<String>, mut event: Event) -> bool {
        let place = self.get_or_insert(id.as_deref(), || run.events.len() as u32);
        let Some(earlier) = run.events.get(place as usize) else {
            run.events.push(event);
            return false;
        };
        if let (Event::Call(earlier), Event::Call(call)) = (earlier, &mut event) {
            call.turn = earlier.turn;
        }
        run.events.replace(place as usize, event);
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

impl Run {
    /// Changes the events from a place on, or removes them.
    pub fn amend(&mut self, begin: usize, mut keep: impl FnMut(&mut Event, &mut Skipped) -> bool) {
        let mut events = self.events.split_off(begin);
        events.retain_mut(|event| keep(event, &mut self.skipped));
        self.events.extend(events);
    }

    /// Marks the results from a place on whose texts say that the tool failed.
    pub fn fail(&mut self, begin: usize, has_failed: impl Fn(&str) -> bool) {
        self.amend(begin, |event, _| {
            if let Event::Result(result) = event {
                result.failed |= has_failed(&result.text);
            }
            true
        });
    }
}

/// Removes elements with these tags from a text, and counts each.
pub fn without(tags: &[&str], text: String, reason: &str, skipped: &mut Skipped) -> String {
    let place = |rest: &str| {
        let places = tags.iter().filter_map(|tag| {
            let begin = rest.find(&format!("<{tag}>"))?;
            let end = format!("</{tag}>");
            Some((begin, begin + rest[begin..].find(&end)? + end.len()))
        });
        places.min()
    };
    let (mut kept, mut rest) = (String::new(), text.as_str());
    while let Some((begin, end)) = place(rest) {
        kept.push_str(&rest[..begin]);
        rest = &rest[end..];
        skipped.add(reason);
    }
    if rest.len() == text.len() { text } else { kept + rest }
}

pub fn hash(id: &str) -> u64 {
    first_bits(Sha256::new_with_prefix(id))
}
