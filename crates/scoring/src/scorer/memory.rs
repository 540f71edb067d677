//! The memory that a scorer compares traces with.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::{
    cache::{CacheOptions, VectorCache},
    clock::{monotonic_clock, since_1970},
    embed::Embedded,
    error::{Error, Invalid},
    scorer::{
        call::{EmbeddedCall, View, Work},
        common::{Held, Outcome},
        store::StoreMemory,
    },
    snapshot::Contents,
    sync::{Mutex, lock},
};

/// The vectors that a scorer compares traces with.
pub(super) enum Memory {
    /// The vectors of its own traces.
    Own(Arc<OwnMemory>),
    /// The vectors of all scorers that share a store.
    Store(Arc<StoreMemory>),
}

impl Memory {
    /// Answers a call in its turn, or passes it to the store. If that panics, the call is answered when it is dropped.
    pub fn settle(&self, embedded: EmbeddedCall) {
        let settle = || match self {
            Self::Own(memory) => memory.settle(embedded),
            Self::Store(memory) => memory.enqueue(embedded),
        };
        let _ = catch_unwind(AssertUnwindSafe(settle));
    }
}

/// The memory of one scorer.
pub struct OwnMemory {
    vectors: Mutex<Vectors>,
    /// The number of vectors when they were last used.
    len: AtomicUsize,
}

/// Vectors of one model.
struct Vectors {
    cache: VectorCache,
    /// The fingerprint of the model; `None` before its first vector.
    model: Option<Arc<str>>,
    /// The bytes of the cache.
    held: Held,
}

impl OwnMemory {
    /// Returns a memory with the vectors of a cache, made by the `model` with this fingerprint.
    pub fn new(cache: VectorCache, model: Option<Arc<str>>, held: Held) -> Arc<Self> {
        let vectors = Mutex::new(Vectors { cache, model, held });
        let memory = Self { vectors, len: AtomicUsize::default() };
        memory.with(|_, _| ());
        Arc::new(memory)
    }

    /// Calls `using` with the cache and the current time.
    pub fn with_cache<R>(&self, using: impl FnOnce(&mut VectorCache, Duration) -> R) -> R {
        self.with(|vectors, now| using(&mut vectors.cache, now))
    }

    /// Copies the cache. `fingerprint` is that of the model in use; it is written if nothing has been embedded yet.
    pub fn snapshot(&self, fingerprint: &str) -> Contents {
        self.with(|Vectors { cache, model, .. }, now| {
            Contents::of(cache, model.as_deref().unwrap_or(fingerprint), now, None)
        })
    }

    fn with<R>(&self, using: impl FnOnce(&mut Vectors, Duration) -> R) -> R {
        let mut vectors = lock(&self.vectors);
        let now = monotonic_clock();
        let result = using(&mut vectors, now);
        self.len.store(vectors.cache.len(now), Ordering::Relaxed);
        let memory = vectors.cache.memory();
        vectors.held.set(memory);
        result
    }

    /// Returns how many vectors there are; while they are being used, how many there were before.
    pub(super) fn len(&self) -> usize {
        let vectors = match self.vectors.try_lock() {
            Ok(vectors) => vectors,
            Err(TryLockError::Poisoned(vectors)) => vectors.into_inner(),
            Err(TryLockError::WouldBlock) => return self.len.load(Ordering::Relaxed),
        };
        vectors.cache.len(monotonic_clock())
    }

    /// Compares the vector of a call, scores, changes the memory, and answers.
    fn settle(&self, embedded: EmbeddedCall) {
        let call = &embedded.call;
        // First: a call that is answered otherwise changes nothing.
        let Some(owed) = call.take_owed() else { return };
        let Ok(Embedded { embedding: vector, fingerprint, .. }) = &embedded.embedded else {
            return embedded.answer(owed, Ok(Outcome::Remembered));
        };
        let vector_len = vector.len();
        let recalled = self.with(|Vectors { cache, model, .. }, now| {
            let is_comparable = vector.is_empty()
                || model.as_ref().is_none_or(|model| model == fingerprint)
                    && cache.options().vector_len == vector_len;
            if !is_comparable && cache.len(now) > 0 && matches!(call.work, Work::Candidate(..)) {
                let (expected, found) = ("vectors of the model in use in the cache", "others");
                return Err(Error::invalid(Invalid::Option, "againstCache", expected, found));
            }
            let none;
            let compared = if is_comparable {
                &*cache
            } else {
                // Nothing can be compared with vectors of another model.
                none = VectorCache::new(CacheOptions { vector_len, ..CacheOptions::default() });
                &none
            };
            let view = View { cache: compared, now, since_1970: since_1970(now), store: None };
            let outcome = call.recall(&view, vector)?;
            let change = call.work.change(Some(&outcome));
            // The live cache now takes vectors of this length.
            let prepares = matches!(call.work, Work::WarmUp) && cache.len(now) == 0;
            if !vector.is_empty() && (prepares || change.is_some()) {
                if !is_comparable {
                    cache.restart(vector_len);
                }
                *model = Some(fingerprint.clone());
            }
            let removed = change.map(|change| change.apply(cache, vector, now)).transpose()?;
            Ok(removed.flatten().map_or(outcome, Outcome::Removed))
        });
        embedded.answer(owed, recalled);
    }
}
