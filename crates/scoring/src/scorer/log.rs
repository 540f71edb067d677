//! Memory that processes share: a log of changes, of which every process keeps a mirror.
//!
//! Calls whose turn has come wait here for the next batch that goes to the log. What the log has
//! is applied to the mirror in its own order and by its own clock, and a call is answered when its
//! entry is applied. So the scores are those of one scorer that had made all changes in the order of the
//! log, whichever process made them.

use std::{
    collections::{HashSet, VecDeque},
    mem,
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

use super::{
    Input, Scorer, Work,
    call::Call,
    order::{Finished, Recalled},
};
use crate::{
    cache::{CacheOptions, Nearest, VectorCache},
    error::{Error, Result, StoreFault},
    novelty::Novelty,
    sync::{Mutex, MutexGuard},
};

/// What one call of a batch asks of the log.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Append a change.
    Append(Change),
    /// Append nothing, but read all that there is; a vector is to be compared with that.
    Read(Option<Box<[f32]>>),
}

/// A change of the memory.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Add a vector.
    Add {
        /// What it is called.
        id: Option<Arc<str>>,
        /// The vector; `None` if it is that of the call itself, or was erased by a later
        /// [`Change::Forget`].
        vector: Option<Box<[f32]>>,
    },
    /// Remove the vectors with this id.
    Forget(Arc<str>),
    /// Remove all vectors.
    Clear,
}

/// A change in its place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    /// Its number, from 1, without gaps.
    pub seq: u64,
    /// When it was appended, by the clock of the log; never earlier than the entry before.
    pub at: Duration,
    /// The change.
    pub change: Change,
    /// The call of the present batch that it comes from.
    pub own: Option<usize>,
}

/// Consecutive entries of a log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// Whether the entries start with the oldest that the log has, not with the one after those that
    /// were applied before.
    pub reset: bool,
    /// Whether the log has no further entries.
    pub is_last: bool,
    /// The entries, the oldest first.
    pub entries: Vec<LogEntry>,
}

/// What a log that compares by itself has found for one call of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The place of the call in the log.
    pub seq: u64,
    /// The nearest vector, if there is one.
    pub nearest: Option<Nearest>,
    /// The number of vectors that the call has removed.
    pub removed: usize,
}

/// Takes a batch. An empty one tells that the calls that were waiting need nothing of the log any more.
pub type Taker = Box<dyn FnOnce(Vec<Request>) + Send>;

/// The shared memory of one scorer.
pub(super) struct Log {
    required: bool,
    queue: Mutex<Queue>,
    mirror: Mutex<Mirror>,
}

#[derive(Default)]
struct Queue {
    /// Their turn has come.
    waiting: VecDeque<Finished>,
    /// The present batch, without those that have been answered.
    sent: Vec<Option<Finished>>,
    /// Waits for the next batch, of so many calls at most.
    taker: Option<(usize, Taker)>,
}

/// The memory as the log has it up to an entry.
struct Mirror {
    cache: VectorCache,
    /// The entry, or 0.
    seq: u64,
    /// When it was appended.
    at: Duration,
    /// Ids of vectors that were erased before they could be read, and are forgotten by a later entry. Until
    /// then nothing can be compared.
    erased: HashSet<Arc<str>>,
}

impl Log {
    pub fn new(options: CacheOptions, required: bool) -> Result<Self> {
        let cache = VectorCache::new(options)?;
        let mirror = Mirror { cache, seq: 0, at: Duration::ZERO, erased: HashSet::new() };
        Ok(Self { required, queue: Mutex::default(), mirror: Mutex::new(mirror) })
    }

    /// Ends all calls, which it returns.
    pub fn close(&self) -> Vec<Arc<Call>> {
        let mut queue = self.queue();
        let sent = mem::take(&mut queue.sent).into_iter().flatten();
        let mut calls: Vec<_> = sent.collect();
        calls.extend(queue.waiting.drain(..));
        let taker = queue.taker.take();
        drop(queue);
        if let Some((_, taker)) = taker {
            taker(Vec::new());
        }
        calls.into_iter().map(|finished| finished.call).collect()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(|poisoned| {
            // Somewhere in the middle of a change: whatever comes next but a new start is refused.
            self.mirror.clear_poison();
            let mut mirror = poisoned.into_inner();
            mirror.restart(u64::MAX);
            mirror
        })
    }

    /// Takes a call of the present batch out, to answer it.
    fn take_sent(&self, index: usize) -> Option<Finished> {
        self.queue().sent.get_mut(index)?.take()
    }
}

impl Mirror {
    fn restart(&mut self, seq: u64) {
        self.cache.clear();
        self.erased.clear();
        (self.seq, self.at) = (seq, Duration::ZERO);
    }

    /// Checks that the page can be applied, as a whole.
    fn check(&self, page: &Page, sent: &[Option<Finished>]) -> Result<()> {
        let (mut seq, mut at) = match page.entries.first() {
            Some(first) if page.reset => (first.seq.saturating_sub(1), Duration::ZERO),
            _ => (self.seq, self.at),
        };
        let invalid = |entry: &LogEntry, what: &str| {
            let message = format!("entry {} of the store: {what}", entry.seq);
            Err(Error::store(StoreFault::Invalid, message))
        };
        let mut found = HashSet::new();
        for entry in &page.entries {
            if seq.checked_add(1) != Some(entry.seq) {
                return invalid(entry, &format!("expected entry {}", seq.saturating_add(1)));
            }
            if entry.at < at {
                return invalid(entry, "expected a time not before that of the entry before");
            }
            (seq, at) = (entry.seq, entry.at);
            if entry.own.is_some_and(|own| !found.insert(own)) {
                return invalid(entry, "its call is in the page twice");
            }
            let own = match entry.own.map(|own| sent.get(own)) {
                Some(None | Some(None)) => return invalid(entry, "its call is not waiting for it"),
                Some(Some(own)) => own.as_ref(),
                None => None,
            };
            match (&entry.change, own.map(|own| &own.call.work)) {
                (Change::Add { .. }, Some(Work::Score(_) | Work::Remember(_)))
                | (Change::Forget(_), Some(Work::Forget(_)))
                | (Change::Clear, Some(Work::Clear)) => {}
                (_, Some(_)) => return invalid(entry, "another change than its call asked for"),
                (Change::Add { vector: Some(vector), .. }, None) => {
                    let expected = self.cache.options().vector_len;
                    if vector.len() != expected {
                        let what = format!("expected {expected} numbers, got {}", vector.len());
                        return invalid(entry, &what);
                    }
                    if let Some(at) = vector.iter().position(|number| !number.is_finite()) {
                        let what = format!("number {at} of the vector is {}", vector[at]);
                        return invalid(entry, &what);
                    }
                }
                (Change::Add { id: None, vector: None }, None) => {
                    return invalid(entry, "expected a vector, or an id that was forgotten later");
                }
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// Applies an entry, with the vector that an own one has; tells what its call wants to know.
    fn apply(&mut self, entry: LogEntry, own: Option<(&Work, &[f32])>) -> Result<Recalled> {
        let LogEntry { seq, at, change, .. } = entry;
        (self.seq, self.at) = (seq, at);
        let removed = match change {
            Change::Add { id, vector } => match own {
                Some((Work::Score(_), vector)) => {
                    let nearest = self.cache.compare_and_add(vector, id, at)?;
                    return self.compared(seq, nearest);
                }
                Some((_, vector)) => {
                    self.cache.add(vector, id, at)?;
                    0
                }
                None => {
                    let vector = vector.unwrap_or_else(|| {
                        self.erased.extend(id.clone());
                        vec![0.0; self.cache.options().vector_len].into()
                    });
                    self.cache.add(&vector, id, at)?;
                    0
                }
            },
            Change::Forget(id) => {
                self.erased.remove(&id);
                self.cache.remove(&id, at)
            }
            Change::Clear => {
                let removed = self.cache.len(at);
                self.cache.clear();
                self.erased.clear();
                removed
            }
        };
        Ok(Recalled::Changed { removed })
    }

    /// Compares without adding, at a time that is not before that of the last entry.
    fn peek(&mut self, vector: &[f32], now: Duration) -> Result<Recalled> {
        let nearest = self.cache.nearest(vector, now.max(self.at))?;
        self.compared(self.seq, nearest)
    }

    fn compared(&self, seq: u64, nearest: Option<Nearest>) -> Result<Recalled> {
        if !self.erased.is_empty() {
            let reason = "what the trace had to be compared with was forgotten meanwhile";
            return Ok(Recalled::Compared(Novelty::NoStore { reason: reason.into() }));
        }
        Ok(Recalled::Compared(Novelty::Store { seq, nearest }))
    }

    /// The time from which on entries are still needed.
    fn keep_from(&mut self) -> Duration {
        let age = self.cache.entries(self.at).next().map(|oldest| oldest.age);
        self.at - age.unwrap_or_default()
    }
}

impl Scorer {
    /// Hands the next `limit` calls, or fewer, to `taker` as soon as there is one, on whatever thread. An
    /// empty batch comes at once where no call is pending.
    /// One batch is under way at a time: what is unanswered of the one before is answered `INTERNAL`.
    pub fn next_batch(&self, limit: usize, taker: Taker) {
        let Some(log) = &self.log else { return taker(Vec::new()) };
        // Where its taker has panicked, nobody else answers the batch before.
        let unanswered = mem::take(&mut log.queue().sent);
        for finished in unanswered.into_iter().flatten() {
            drop(finished.call.take_answer());
        }
        let is_expected = self.statistics().pending() > 0;
        let mut queue = log.queue();
        if queue.waiting.is_empty() && is_expected && !self.is_closed() {
            queue.taker = Some((limit, taker));
            return;
        }
        drop(queue);
        self.hand_over(log, limit, taker);
    }

    pub(super) fn enqueue_for_log(&self, log: &Log, finished: Finished) {
        let mut queue = log.queue();
        if self.is_closed() {
            drop(queue);
            drop(finished.call.take_answer());
            return;
        }
        queue.waiting.push_back(finished);
        let taker = queue.taker.take();
        drop(queue);
        if let Some((limit, taker)) = taker {
            self.hand_over(log, limit, taker);
        }
    }

    fn hand_over(&self, log: &Log, limit: usize, taker: Taker) {
        let mut batch = Vec::new();
        while batch.len() < limit {
            let mut queue = log.queue();
            // What they remove would be gone from the page that a call before them is compared with.
            let removes =
                |finished: &Finished| matches!(finished.call.work, Work::Forget(_) | Work::Clear);
            if !batch.is_empty() && queue.waiting.front().is_some_and(removes) {
                break;
            }
            let Some(finished) = queue.waiting.pop_front() else { break };
            if finished.call.is_answered() {
                continue;
            }
            match request(&finished) {
                // Nobody before it to wait for.
                None if batch.is_empty() => {
                    drop(queue);
                    self.conclude(finished, |_, embedded| {
                        log.mirror().peek(&embedded.embedding, Duration::ZERO)
                    });
                }
                request => {
                    batch.push(request.unwrap_or(Request::Read(None)));
                    queue.sent.push(Some(finished));
                }
            }
        }
        taker(batch);
    }

    /// Applies what the log has, and answers the calls of the present batch whose entries are among it.
    /// Returns the time from which on the log must keep its entries; older ones cannot be found any
    /// more.
    ///
    /// # Errors
    ///
    /// `INVALID_STORE` when this cannot be the next page of a log, and `CLOSED`: nothing has been applied
    /// then. `INVALID_STORE` also when vectors were erased that no entry has forgotten.
    pub fn apply(&self, page: Page) -> Result<Duration> {
        let log = self.log.as_ref().ok_or_else(|| Error::internal("no log"))?;
        let mut mirror = log.mirror();
        let queue = log.queue();
        if self.is_closed() {
            return Err(Error::closed());
        }
        mirror.check(&page, &queue.sent)?;
        drop(queue);
        if page.reset {
            mirror.restart(page.entries.first().map_or(0, |first| first.seq - 1));
            self.cache_len.store(0, Ordering::Relaxed);
        }
        drop(mirror);
        let Page { is_last, entries, .. } = page;
        for entry in entries {
            self.apply_entry(log, entry)?;
        }
        let mut mirror = log.mirror();
        if is_last && let Some(id) = mirror.erased.iter().next() {
            let message =
                format!("the store has erased a vector of {id:?}, which was not forgotten");
            return Err(Error::store(StoreFault::Invalid, message));
        }
        Ok(mirror.keep_from())
    }

    fn apply_entry(&self, log: &Log, entry: LogEntry) -> Result<()> {
        let own = entry.own.and_then(|own| {
            // What only reads, and was called before, sees the memory as it is before this entry.
            self.answer_readers(log, own, entry.at);
            log.take_sent(own)
        });
        let apply = |work| {
            let mut mirror = log.mirror();
            let recalled = mirror.apply(entry, work);
            let at = mirror.at;
            // Before the reply: who has it must find the entry counted.
            self.cache_len.store(mirror.cache.len(at), Ordering::Relaxed);
            recalled
        };
        let Some(own) = own else { return apply(None).map(drop) };
        let vector = own.embedded.as_ref().map_or(&[][..], |embedded| &embedded.embedding).to_vec();
        // Applied in any case: the entry is in the log, even if its call has been aborted since.
        let recalled = apply(Some((&own.call.work, &vector)));
        self.conclude(own, |_, _| log.required(recalled?));
        Ok(())
    }

    /// Returns the length of the vectors of the log.
    pub fn vector_len(&self) -> usize {
        let mirror = |log: &Log| log.mirror().cache.options().vector_len;
        self.log.as_ref().map_or(self.options.cache.vector_len, mirror)
    }

    /// Takes vectors of this length, at least 1, from the log. To be called before its first page is applied.
    pub fn set_vector_len(&self, vector_len: usize) {
        if let Some(log) = &self.log {
            let mut mirror = log.mirror();
            if mirror.cache.options().vector_len != vector_len {
                mirror.cache.restart(vector_len);
            }
        }
    }

    /// Answers the calls before `end` in the present batch that append nothing.
    fn answer_readers(&self, log: &Log, end: usize, now: Duration) {
        for index in 0..end {
            let mut queue = log.queue();
            let Some(sent) = queue.sent.get_mut(index) else { return };
            if sent.as_ref().is_none_or(appends) {
                continue;
            }
            let reader = sent.take();
            drop(queue);
            if let Some(reader) = reader {
                self.conclude(reader, |work, embedded| match work {
                    Work::WarmUp => Ok(Recalled::Changed { removed: 0 }),
                    _ => log.required(log.mirror().peek(&embedded.embedding, now)?),
                });
            }
        }
    }

    /// Answers the calls of the present batch that append nothing, when the entries of all others, and all
    /// that was in the log, have been applied. `now` is the present time by the clock of the log.
    pub fn finish_batch(&self, now: Duration) {
        if let Some(log) = &self.log {
            self.answer_readers(log, usize::MAX, now);
        }
    }

    /// Answers the present batch with what the log itself has found, one comparison for each call.
    pub fn finish_compared(&self, comparisons: Vec<Comparison>) {
        let Some(log) = &self.log else { return };
        for (index, Comparison { seq, nearest, removed }) in comparisons.into_iter().enumerate() {
            let Some(sent) = log.take_sent(index) else { continue };
            self.conclude(sent, |work, _| {
                Ok(match work {
                    Work::Score(_) | Work::Peek(_) => {
                        Recalled::Compared(Novelty::Store { seq, nearest })
                    }
                    _ => Recalled::Changed { removed },
                })
            });
        }
    }

    /// Answers the rest of the present batch without the log, which fails with `error`. Where the log
    /// is not required, and only cannot be reached, scores have a neutral novelty.
    pub fn fail_batch(&self, error: &Error) {
        let Some(log) = &self.log else { return };
        let sent = mem::take(&mut log.queue().sent);
        for finished in sent.into_iter().flatten() {
            self.conclude(finished, |work, _| match work {
                Work::Score(_) | Work::Peek(_) if error.code() == "STORE_UNAVAILABLE" => {
                    let reason = error.to_string().into();
                    log.required(Recalled::Compared(Novelty::NoStore { reason }))
                }
                Work::WarmUp if error.code() == "STORE_UNAVAILABLE" && !log.required => {
                    Ok(Recalled::Changed { removed: 0 })
                }
                _ => Err(error.clone()),
            });
        }
    }
}

impl Log {
    /// Fails instead of a neutral novelty where the log is required.
    fn required(&self, recalled: Recalled) -> Result<Recalled> {
        match recalled {
            Recalled::Compared(Novelty::NoStore { reason }) if self.required => {
                Err(Error::store(StoreFault::Unavailable, reason))
            }
            recalled => Ok(recalled),
        }
    }
}

/// What a call asks of the log; `None` when it does not need it.
fn request(finished: &Finished) -> Option<Request> {
    let vector = finished.embedded.as_ref().ok().map(|embedded| &embedded.embedding);
    Some(match &finished.call.work {
        Work::Score(Input { trace, .. }) | Work::Remember(Input { trace, .. }) => {
            let vector = vector.filter(|_| appends(finished))?.clone();
            Request::Append(Change::Add { id: trace.id().cloned(), vector: Some(vector) })
        }
        Work::Peek(_) => Request::Read(Some(vector?.clone())),
        Work::Forget(id) => Request::Append(Change::Forget(id.clone())),
        Work::Clear => Request::Append(Change::Clear),
        Work::WarmUp => Request::Read(None),
        Work::Embed(_) => return None,
    })
}

/// Whether a call appends to the log: not without a vector that others can read.
fn appends(finished: &Finished) -> bool {
    match (&finished.call.work, &finished.embedded) {
        (Work::Score(_) | Work::Remember(_), Ok(embedded)) => {
            embedded.embedding.iter().all(|number| number.is_finite())
        }
        (Work::Forget(_) | Work::Clear, _) => true,
        _ => false,
    }
}
