//! The state of a store after one of its entries.

use std::{collections::HashSet, mem::discriminant, time::Duration};

use super::{Page, StoredEntry};
use crate::{
    cache::{CacheOptions, VectorCache, is_unit, norm},
    error::{Error, Result, StoreFault},
    id::Id,
    scorer::{
        call::{Call, EmbeddedCall, View},
        common::{Change, Held, Outcome},
    },
    snapshot::{Contents, Position, Snapshot},
};

/// The vectors of a store up to one entry.
pub struct Mirror {
    cache: VectorCache,
    /// The bytes of these.
    held: Held,
    /// The epoch of the store; `None` before the first page.
    epoch: Option<String>,
    /// The number of the entry, or 0.
    seq: u64,
    /// When it was appended.
    at: Duration,
    /// Its call.
    call: Box<str>,
    /// Ids of vectors that were erased before they were read, because a later entry forgets them. Nothing can be
    /// compared before that entry.
    erased: HashSet<Id>,
}

fn invalid<T>(message: String) -> Result<T> {
    Err(Error::store(StoreFault::Invalid, message))
}

impl Mirror {
    pub fn new(options: CacheOptions, held: Held) -> Self {
        let cache = VectorCache::new(options);
        let (seq, at, call, erased) = Default::default();
        Self { cache, held, epoch: None, seq, at, call, erased }
    }

    /// Returns the position of the last entry, from which another mirror can continue. `None` before the first
    /// entry, and while vectors are missing.
    pub fn position(&self) -> Option<Position> {
        let epoch = self.epoch.clone().filter(|_| self.seq > 0 && self.erased.is_empty())?;
        Some(Position { epoch, seq: self.seq, at: self.at, call: self.call.clone() })
    }

    /// Copies the vectors, with the place of the last entry.
    pub fn snapshot(&self, fingerprint: &str) -> Contents {
        let position = self.position();
        Contents::of(&self.cache, fingerprint, self.at, position)
    }

    /// Continues from a snapshot if it was taken of a mirror with the same bounds.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::into_cache`].
    pub fn resume(&mut self, mut snapshot: Snapshot) -> Result<()> {
        let (own, found) = (self.cache.options(), snapshot.options());
        let has_bounds = (own.max_elements, own.ttl) == (found.max_elements, found.ttl);
        if let Some(position) = snapshot.take_position().filter(|_| has_bounds) {
            let Position { epoch, seq, at, call } = position;
            self.cache = snapshot.into_cache(found, at)?;
            self.epoch = Some(epoch);
            (self.seq, self.at, self.call) = (seq, at, call);
        }
        Ok(())
    }

    /// Drops everything: the next page must be a reset.
    pub fn reset(&mut self) {
        self.cache.clear();
        self.erased.clear();
        (self.epoch, self.seq, self.at) = (None, 0, Duration::ZERO);
    }

    pub fn vector_len(&self) -> usize {
        self.cache.options().vector_len
    }

    pub fn set_vector_len(&mut self, vector_len: usize) {
        if self.vector_len() != vector_len {
            self.reset();
            self.cache.restart(vector_len);
        }
    }

    /// Returns the ids of the vectors alive at the last entry.
    pub fn ids(&self) -> impl Iterator<Item = &Id> {
        self.cache.ids(self.at)
    }

    /// Returns the number of vectors alive at the last entry, and accounts for their memory.
    pub fn count(&mut self) -> usize {
        self.held.set(self.cache.memory());
        self.cache.len(self.at)
    }

    /// Begins a page. `sent` has the unanswered calls of the current batch.
    ///
    /// # Errors
    ///
    /// `INVALID_STORE` if the page cannot be the next one; nothing has changed then.
    pub fn begin(&mut self, page: &Page, sent: &[Option<EmbeddedCall>]) -> Result<()> {
        if !page.reset && self.epoch.as_ref() != Some(&page.epoch) {
            let message = format!("the store continues in another epoch, {:.100}", page.epoch);
            return invalid(message);
        }
        let (mut seq, mut at) =
            if page.reset { (page.first - 1, Duration::ZERO) } else { (self.seq, self.at) };
        let mut found = HashSet::new();
        for entry in &page.entries {
            if let Err(what) = self.check(entry, (seq, at), sent, &mut found) {
                return invalid(format!("entry {} of the store: {what}", entry.seq));
            }
            (seq, at) = (entry.seq, entry.at);
        }
        if page.reset && page.entries.is_empty() {
            seq = 0;
        }
        if page.head < seq || (page.entries.is_empty() && page.head > seq) {
            let head = page.head;
            return invalid(format!("the store has no entry after {seq}, and its head is {head}"));
        }
        if page.reset {
            self.reset();
            self.epoch = Some(page.epoch.clone());
            // The number of entries to come.
            let count = page.head.saturating_sub(page.first).saturating_add(1);
            self.cache.reserve(count.try_into().unwrap_or(usize::MAX));
        }
        Ok(())
    }

    /// Checks an entry after one with this number and time. The error says what is wrong.
    fn check(
        &self,
        entry: &StoredEntry,
        (seq, at): (u64, Duration),
        sent: &[Option<EmbeddedCall>],
        found: &mut HashSet<usize>,
    ) -> Result<(), String> {
        if seq.checked_add(1) != Some(entry.seq) {
            return Err(format!("expected entry {}", seq.saturating_add(1)));
        }
        if entry.at < at {
            return Err("expected a time not before the previous entry's".into());
        }
        if entry.own.is_some_and(|own| !found.insert(own)) {
            return Err("its call is in the page twice".into());
        }
        let own = entry.own.and_then(|own| sent.get(own)?.as_ref());
        match (&entry.change, own.map(|own| own.appends)) {
            (change, Some(appends)) if appends == Some(discriminant(change)) => Ok(()),
            (_, Some(_)) => Err("not the change that its call requested".into()),
            (Change::Add { vector: Some(vector), .. }, None) => {
                let expected = self.vector_len();
                if vector.len() != expected {
                    return Err(format!("expected {expected} numbers, got {}", vector.len()));
                }
                if is_unit(norm(vector)) {
                    return Ok(());
                }
                Err(format!("expected a vector of length 1, got one of {}", norm(vector)))
            }
            (Change::Add { id: None, vector: None }, None) => {
                Err("expected a vector, or an id that was forgotten later".into())
            }
            (_, None) => Ok(()),
        }
    }

    /// Applies an entry. Returns the outcome of `own`, the call of this scorer that appended it.
    pub fn apply(
        &mut self,
        StoredEntry { seq, at, call, change, .. }: StoredEntry,
        own: Option<&EmbeddedCall>,
    ) -> Result<Outcome> {
        (self.seq, self.at, self.call) = (seq, at, call);
        let own_vector = own.and_then(EmbeddedCall::vector);
        let outcome = match own {
            Some(EmbeddedCall { accepted: Some(outcome), .. }) => outcome.clone(),
            Some(own) => self.recall(&own.call, own_vector.unwrap_or_default(), at)?,
            None => Outcome::Remembered,
        };
        match &change {
            Change::Add { id, vector: None } if own_vector.is_none() => {
                self.erased.extend(id.clone());
            }
            Change::Add { .. } | Change::Forget(None) => {}
            Change::Forget(Some(id)) => drop(self.erased.remove(id)),
            Change::Clear => self.erased.clear(),
        }
        let zeros = vec![0.0; self.vector_len()];
        let removed = change.apply(&mut self.cache, own_vector.unwrap_or(&zeros), at)?;
        Ok(removed.map_or(outcome, Outcome::Removed))
    }

    /// Does the part of a call that reads. Ages count from `now`, or from the last entry if that is later.
    pub fn recall(&self, call: &Call, vector: &[f32], now: Duration) -> Result<Outcome> {
        let now = now.max(self.at);
        let forgotten = "what the trace had to be compared with was forgotten meanwhile";
        let store = if self.erased.is_empty() { Ok(self.seq) } else { Err(forgotten) };
        let view = View { cache: &self.cache, now, since_1970: now, store: Some(store) };
        call.recall(&view, vector)
    }

    /// Ends a page. Returns the time from which entries are still needed.
    ///
    /// # Errors
    ///
    /// `INVALID_STORE` if the store ends here and an erased vector was not forgotten.
    pub fn end(&self, head: u64) -> Result<Duration> {
        if self.seq >= head
            && let Some(id) = self.erased.iter().next().map(|id| &**id)
        {
            return invalid(format!(
                "the store has erased a vector of \"{id:.100}\", which was not forgotten"
            ));
        }
        let age = self.cache.entries(self.at).next().map(|(oldest, _)| oldest.age);
        Ok(self.at.saturating_sub(age.unwrap_or_default()))
    }
}
