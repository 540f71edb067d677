//! A memory that processes share: a store of changes, mirrored by every process.
//!
//! Calls whose turn has come wait here for the next batch to the store. The entries of the store are applied to the
//! mirror in their order and by their times, and a call is answered when its entry is applied. So the scores are those
//! of one scorer that made all changes in the order of the store, whichever process made them.

mod mirror;

use std::{
    collections::{HashSet, VecDeque},
    mem::{self, discriminant},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mirror::Mirror;

use crate::{
    cache::{is_unit, norm, normalize_into},
    embed::Embedded,
    error::{Error, Result, StoreFault},
    score::Novelty,
    scorer::{
        call::{Call, EmbeddedCall, Input, Work},
        common::{Change, Common, Held, Outcome},
    },
    snapshot::{Position, Snapshot},
    sync::{Mutex, MutexGuard, lock},
};

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

/// Takes the requests of a batch: what each appends to the store, or `None` to append nothing but read everything. An
/// empty one means that calls have come that do not need the store, or that the wait has ended.
pub type Taker = Box<dyn FnOnce(Vec<Option<Change>>) + Send>;

/// The memory of a scorer that shares a store. Its owner sends the calls of [`StoreMemory::next_batch`] to the store,
/// and passes the entries to [`StoreMemory::apply`].
pub struct StoreMemory {
    common: Arc<Common>,
    is_required: bool,
    queue: Mutex<Queue>,
    mirror: Mutex<Mirror>,
    /// The number of vectors after the last entry.
    len: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    /// Calls whose turn has come.
    waiting: VecDeque<EmbeddedCall>,
    /// The unanswered calls of the current batch.
    sent: Vec<Option<EmbeddedCall>>,
    /// Waits for the next batch, of at most this many calls.
    taker: Option<(usize, Taker)>,
}

impl StoreMemory {
    /// Returns a memory that continues from a snapshot of a memory on a store with the same bounds; with any other, or
    /// none, it is empty. Fails as [`Snapshot::into_cache`].
    pub(super) fn new(
        is_required: bool,
        snapshot: Option<Snapshot>,
        common: Arc<Common>,
    ) -> Result<Self> {
        let mut mirror = Mirror::new(common.options.cache, Held::new(&common.options.ledger));
        if let Some(snapshot) = snapshot {
            mirror.resume(snapshot)?;
        }
        let (queue, len) = (Mutex::default(), mirror.count().into());
        Ok(Self { common, is_required, queue, mirror: Mutex::new(mirror), len })
    }

    /// Removes all calls, and returns them.
    pub(super) fn close(&self) -> Vec<Arc<Call>> {
        let Queue { waiting, sent, taker } = mem::take(&mut *lock(&self.queue));
        taker.into_iter().for_each(|(_, taker)| taker(Vec::new()));
        let calls = sent.into_iter().flatten().chain(waiting);
        calls.map(|embedded| embedded.call.clone()).collect()
    }

    /// Returns the number of vectors, as of the last entry that was applied.
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    pub(super) fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(|poisoned| {
            // A panic may have left it half changed.
            self.mirror.clear_poison();
            let mut mirror = poisoned.into_inner();
            mirror.reset();
            mirror
        })
    }

    /// Adds a call whose turn has come. An accepted one returns to the front, with those after it.
    pub(super) fn enqueue(&self, mut embedded: EmbeddedCall) {
        // Vectors in a store have length 1.
        if let Ok(Embedded { embedding, .. }) = &mut embedded.embedded
            && !is_unit(norm(embedding))
        {
            normalize_into(embedding, &embedding.clone());
        }
        let mut queue = lock(&self.queue);
        if self.common.is_closed() {
            drop(queue);
            drop(embedded.call.take_owed());
            return;
        }
        // Of earlier ones, the owner hands over the batch.
        let is_first = queue.waiting.is_empty();
        match embedded.accepted {
            Some(_) => {
                while let Some(later) = queue.sent.pop() {
                    later.into_iter().for_each(|later| queue.waiting.push_front(later));
                }
                queue.waiting.push_front(embedded);
            }
            None => queue.waiting.push_back(embedded),
        }
        drop(queue);
        if is_first {
            self.hand_over();
        }
    }

    /// Passes up to `limit` calls to `taker` as soon as there is one, on any thread. Returns whether there is one, or the
    /// scorer is closed: the owner must then call [`StoreMemory::hand_over`].
    ///
    /// There is one batch at a time: unanswered calls of the previous one are answered with `INTERNAL`.
    #[must_use]
    pub fn next_batch(&self, limit: usize, taker: Taker) -> bool {
        // If the taker of the previous batch panicked, nobody else answers it.
        let unanswered = mem::take(&mut lock(&self.queue).sent);
        for embedded in unanswered.into_iter().flatten() {
            drop(embedded.call.take_owed());
        }
        let mut queue = lock(&self.queue);
        queue.taker = Some((limit, taker));
        !queue.waiting.is_empty() || self.common.is_closed()
    }

    /// Ends the wait of [`StoreMemory::next_batch`], if there is one, with an empty batch.
    pub fn end_wait(&self) {
        let taker = lock(&self.queue).taker.take();
        if let Some((_, taker)) = taker {
            taker(Vec::new());
        }
    }

    /// Passes the calls that wait to the taker of [`StoreMemory::next_batch`], if it still waits. Takes long if many ids
    /// are known.
    pub fn hand_over(&self) {
        let taker = lock(&self.queue).taker.take();
        let Some((limit, taker)) = taker else { return };
        let mut batch = Vec::new();
        // Whether the whole store has just been read, and whether calls wait for that.
        let (mut is_fresh, mut is_open) = (false, false);
        // The ids in the batch, and whether those in the store are with them.
        let (mut known, mut is_whole) = (HashSet::new(), false);
        while batch.len() < limit {
            let mut queue = lock(&self.queue);
            if is_fresh && !is_whole && queue.waiting.front().is_some_and(is_undecided) {
                drop(queue);
                known.extend(self.mirror().ids().cloned());
                is_whole = true;
                queue = lock(&self.queue);
            }
            // The calls before a removal must still be compared with what it removes, and those after undecided ones
            // with their traces.
            let ends = |next: &EmbeddedCall| {
                matches!(next.call.work.change(None), Some(Change::Forget(_) | Change::Clear))
                    || is_open && !is_undecided(next)
            };
            if !batch.is_empty() && queue.waiting.front().is_some_and(ends) {
                break;
            }
            let Some(mut next) = queue.waiting.pop_front() else { break };
            if next.call.is_answered() {
                continue;
            }
            let (mut change, needs_store) = request(&next);
            if !needs_store && batch.is_empty() {
                // It need not wait for any call.
                drop(queue);
                self.answer_reader(next, Duration::ZERO);
                continue;
            }
            let id = next.call.work.scored().and_then(|input| input.trace.id());
            let is_new = is_whole && id.is_none_or(|id| !known.contains(id));
            is_open |= is_undecided(&next) && (change.is_none() || !is_new);
            if is_open {
                change = None;
            }
            is_fresh |= next.accepted.is_some();
            next.appends = change.as_ref().map(discriminant);
            if let Some(Change::Add { id, .. }) = &change {
                known.extend(id.clone());
            }
            batch.push(change);
            queue.sent.push(Some(next));
        }
        taker(batch);
    }

    /// Applies a page of the store, and answers the calls of the current batch whose entries it contains. Returns the
    /// time from which the store must keep entries.
    ///
    /// # Errors
    ///
    /// `INVALID_STORE` if this cannot be the next page, and `CLOSED`, without applying anything; `INVALID_STORE` also
    /// if an erased vector was not forgotten.
    pub fn apply(&self, page: Page) -> Result<Duration> {
        let mut mirror = self.mirror();
        let queue = lock(&self.queue);
        if self.common.is_closed() {
            return Err(Error::closed());
        }
        mirror.begin(&page, &queue.sent)?;
        drop(queue);
        self.len.store(mirror.count(), Ordering::Relaxed);
        drop(mirror);
        for entry in page.entries {
            self.apply_entry(entry)?;
        }
        self.mirror().end(page.head)
    }

    fn apply_entry(&self, entry: StoredEntry) -> Result<()> {
        let own = entry.own.and_then(|own| {
            // Earlier calls that only read are compared without this entry.
            self.answer_readers(own, entry.at);
            lock(&self.queue).sent.get_mut(own)?.take()
        });
        // Applied even if its call was aborted, because the entry is in the store.
        let mut mirror = self.mirror();
        let outcome = mirror.apply(entry, own.as_ref());
        // First, so that the reply sees the entry counted.
        self.len.store(mirror.count(), Ordering::Relaxed);
        drop(mirror);
        match own {
            Some(own) => self.answer(own, outcome),
            None => drop(outcome?),
        }
        Ok(())
    }

    /// Answers a call, unless that is done. Fails instead of a neutral novelty if the store is required.
    fn answer(&self, embedded: EmbeddedCall, mut recalled: Result<Outcome>) {
        let Some(owed) = embedded.call.take_owed() else { return };
        if let Ok(Outcome::Scored(report)) = &recalled
            && let Novelty::NoStore(reason) = &report.score.novelty
            && self.is_required
        {
            recalled = Err(Error::store(StoreFault::Unavailable, reason));
        }
        embedded.answer(owed, recalled);
    }

    /// Answers the calls before `end` in the current batch that append nothing.
    fn answer_readers(&self, end: usize, now: Duration) {
        for index in 0..end {
            let mut queue = lock(&self.queue);
            let Some(sent) = queue.sent.get_mut(index) else { return };
            let Some(reader) = sent.take_if(|sent| sent.appends.is_none()) else { continue };
            drop(queue);
            self.answer_reader(reader, now);
        }
    }

    /// Answers a call that appends nothing; an accepted decision goes back to the queue.
    fn answer_reader(&self, mut reader: EmbeddedCall, now: Duration) {
        let recalled = match &reader.embedded {
            Ok(embedded) => self.mirror().recall(&reader.call, &embedded.embedding, now),
            Err(_) => Ok(Outcome::Remembered),
        };
        if is_undecided(&reader)
            && let Ok(outcome) = &recalled
            && reader.call.work.change(Some(outcome)).is_some()
        {
            reader.accepted = recalled.ok();
            return self.enqueue(reader);
        }
        self.answer(reader, recalled);
    }

    /// Answers the calls of the current batch that append nothing, once all entries of the store are applied. They see
    /// the vectors that are unexpired `now`, by the clock of this machine, and change nothing.
    pub fn finish_batch(&self, now: Duration) {
        self.answer_readers(usize::MAX, now);
    }

    /// Answers the rest of the current batch after the store failed with `error`. If it is only unavailable, and not
    /// required, scores have a neutral novelty.
    pub fn fail_batch(&self, error: &Error) {
        let sent = mem::take(&mut lock(&self.queue).sent);
        let is_unavailable = error.code() == "STORE_UNAVAILABLE";
        for embedded in sent.into_iter().flatten() {
            let call = &embedded.call;
            let recalled = match (&call.work, call.work.scored()) {
                (_, Some(Input { trace, .. })) if is_unavailable => {
                    Ok(call.score(trace, Novelty::NoStore(error.to_string().into()), false))
                }
                (Work::WarmUp, _) if is_unavailable && !self.is_required => {
                    Ok(Outcome::WarmedUp(Ok(())))
                }
                _ => Err(error.clone()),
            };
            self.answer(embedded, recalled);
        }
    }

    /// Returns the position of the last applied entry; `None` to read the store from its beginning.
    pub fn position(&self) -> Option<Position> {
        self.mirror().position()
    }

    /// Sets the length of the store's vectors, at least 1. Must be called before the first page is applied. A snapshot
    /// with another length is not continued.
    pub fn set_vector_len(&self, vector_len: usize) {
        let mut mirror = self.mirror();
        mirror.set_vector_len(vector_len);
        self.len.store(mirror.count(), Ordering::Relaxed);
    }
}

/// Returns what a call appends, if it does, and whether it needs the store at all. Only a vector of length 1 is added.
fn request(embedded: &EmbeddedCall) -> (Option<Change>, bool) {
    let (work, vector) = (&embedded.call.work, embedded.vector());
    match work.change(embedded.accepted.as_ref()) {
        Some(Change::Add { id, .. }) => {
            let added = vector.filter(|vector| is_unit(norm(vector)));
            (added.map(|vector| Change::Add { id, vector: Some(vector.into()) }), added.is_some())
        }
        Some(change) => (Some(change), true),
        None => (None, vector.is_some() || matches!(work, Work::WarmUp)),
    }
}

/// Returns whether the memory decides if the call appends.
fn is_undecided(embedded: &EmbeddedCall) -> bool {
    let work = &embedded.call.work;
    (matches!(work, Work::Decide(..)) || work.scored().is_some_and(|input| input.before_own))
        && embedded.accepted.is_none()
        && embedded.vector().is_some()
}
