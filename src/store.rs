//! The way of calls to a store, which JavaScript reaches, and of its entries back.

use std::time::Duration;

use knowledgepulse_scoring::{
    Error, StoreFault,
    cache::Nearest,
    scorer::{Change, Comparison, LogEntry, Page, Request},
};
use napi::{
    Env, Result,
    bindgen_prelude::{Buffer, Float64Array, Int32Array, Uint8Array, Unknown},
};
use napi_derive::napi;

use crate::{
    env::{EnvState, in_background},
    scorer::Scorer,
};

/// Rounding to float32 changes the length of a vector by far less.
const LENGTH_TOLERANCE: f64 = 1e-4;

/// Bytes of a number of a vector.
const NUMBER: usize = size_of::<f32>();

/// What a call asks of the store: to append an `add`, `forget` or `clear`, to `read` all that there is, or
/// to read it and `peek` with a vector. A vector is float32, little-endian.
#[napi(object, object_from_js = false)]
pub struct StoreRequest {
    pub kind: &'static str,
    pub id: Option<String>,
    pub embedding: Option<Buffer>,
}

/// Entries of a log, one element of each array for each. `lib/store.js` has checked what a value must be by
/// itself; what it must be in its place is checked where it is applied.
#[napi(object, object_to_js = false)]
pub struct StorePage {
    pub reset: bool,
    pub is_last: bool,
    pub seqs: Float64Array,
    /// In milliseconds.
    pub times: Float64Array,
    /// See [`kind`].
    pub kinds: Uint8Array,
    /// The index of the request that an entry comes from, or -1.
    pub own: Int32Array,
    pub ids: Vec<Option<String>>,
    /// Those of all entries that have one, each of the same length.
    pub vectors: Uint8Array,
}

/// How [`StorePage::kinds`] tells what an entry is.
mod kind {
    pub const ADD: u8 = 0;
    pub const ADD_WITHOUT_VECTOR: u8 = 1;
    pub const FORGET: u8 = 2;
}

/// What a store has found for one request.
#[napi(object, object_to_js = false)]
pub struct StoreComparison {
    pub seq: f64,
    pub max_similarity: Option<f64>,
    pub nearest: Option<String>,
    pub removed: Option<f64>,
}

#[napi]
impl Scorer {
    /// A promise of the next requests, up to `limit`, which does not keep the process alive.
    #[napi(catch_unwind)]
    pub fn next_batch<'env>(&self, env: &'env Env, limit: u32) -> Result<Unknown<'env>> {
        let (promise, deferred) = EnvState::of(env)?.outbox.idle_promise(env)?;
        let taker = move |batch: Vec<Request>| {
            deferred.settle(Ok(batch), |_, batch| {
                Ok(batch.into_iter().map(StoreRequest::from).collect::<Vec<_>>())
            });
        };
        self.engine.next_batch(limit as usize, Box::new(taker));
        Ok(promise)
    }

    /// Applies a page, and answers the calls whose entries are in it. The promise resolves to the time
    /// from which on the store has to keep entries.
    #[napi(catch_unwind)]
    pub fn apply<'env>(&self, env: &'env Env, page: StorePage) -> Result<Unknown<'env>> {
        let StorePage { reset, is_last, seqs, times, kinds, own, ids, vectors } = page;
        let page = Raw {
            reset,
            is_last,
            seqs: seqs.to_vec(),
            times: times.to_vec(),
            kinds: kinds.to_vec(),
            own: own.to_vec(),
            ids,
            vectors: vectors.to_vec(),
        };
        let scorer = self.engine.clone();
        let bytes = scorer.vector_len() * NUMBER;
        let milliseconds = |_: &Env, time: Duration| Ok(time.as_millis() as f64);
        let apply = move || scorer.during(|| scorer.apply(read_page(page, bytes)?));
        in_background(env, apply, milliseconds)
    }

    /// Answers what appends nothing. `now` is the present time in milliseconds.
    #[napi(catch_unwind)]
    pub fn finish_batch(&self, now: f64) {
        self.engine.finish_batch(Duration::from_millis(now as u64));
    }

    /// Answers the requests with what the store has found, one for each.
    #[napi(catch_unwind)]
    pub fn finish_compared(&self, comparisons: Vec<StoreComparison>) {
        let comparisons = comparisons.into_iter().map(Comparison::from).collect();
        self.engine.finish_compared(comparisons);
    }

    /// Answers the rest of the requests without the store, for a reason with a code.
    #[napi(catch_unwind)]
    pub fn fail_batch(&self, code: String, reason: String) {
        let fault = match code.as_str() {
            "STORE_MISMATCH" => StoreFault::Mismatch,
            "INVALID_STORE" => StoreFault::Invalid,
            _ => StoreFault::Unavailable,
        };
        self.engine.fail_batch(&Error::store(fault, reason));
    }

    /// A promise of what embeddings depend on. From then on `dimensions` is their length.
    #[napi(catch_unwind)]
    pub fn fingerprint<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let scorer = self.clone();
        let fingerprint = move || {
            let embedder = scorer.embedder()?;
            // That of the built-in model is known; another one has to be asked.
            if embedder.model.settings().model.is_some() {
                let loaded = embedder.model.get().map_err(Error::embedder_unavailable)?;
                scorer.engine.set_vector_len(loaded.dimensions());
            }
            embedder.fingerprint()
        };
        let scorer = self.engine.clone();
        in_background(env, move || scorer.during(fingerprint), |_, found| Ok(found))
    }

    /// The length of the vectors of the store.
    #[napi(getter, catch_unwind)]
    pub fn dimensions(&self) -> u32 {
        self.engine.vector_len() as u32
    }
}

impl From<Request> for StoreRequest {
    fn from(request: Request) -> Self {
        let (kind, id, vector) = match request {
            Request::Append(Change::Add { id, vector }) => ("add", id, vector),
            Request::Append(Change::Forget(id)) => ("forget", Some(id), None),
            Request::Append(Change::Clear) => ("clear", None, None),
            Request::Read(Some(vector)) => ("peek", None, Some(vector)),
            Request::Read(None) => ("read", None, None),
        };
        let bytes = |vector: Box<[f32]>| {
            vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>().into()
        };
        Self { kind, id: id.map(|id| id.to_string()), embedding: vector.map(bytes) }
    }
}

impl From<StoreComparison> for Comparison {
    fn from(found: StoreComparison) -> Self {
        let StoreComparison { seq, max_similarity, nearest, removed } = found;
        let nearest =
            max_similarity.map(|similarity| Nearest { similarity, id: nearest.map(Into::into) });
        Self { seq: seq as u64, nearest, removed: removed.unwrap_or_default() as usize }
    }
}

/// A [`StorePage`] off the JavaScript thread.
struct Raw {
    reset: bool,
    is_last: bool,
    seqs: Vec<f64>,
    times: Vec<f64>,
    kinds: Vec<u8>,
    own: Vec<i32>,
    ids: Vec<Option<String>>,
    vectors: Vec<u8>,
}

fn read_page(page: Raw, bytes: usize) -> knowledgepulse_scoring::Result<Page> {
    let Raw { reset, is_last, seqs, times, kinds, own, ids, vectors } = page;
    let mut vectors = vectors.chunks_exact(bytes);
    let mut entries = Vec::with_capacity(ids.len());
    let rows = seqs.iter().zip(times.iter()).zip(kinds.iter()).zip(own.iter()).zip(ids);
    for ((((seq, at), kind), own), id) in rows {
        let id = id.map(Into::into);
        let change = match *kind {
            kind::ADD => {
                let bytes = vectors.next().unwrap_or_default();
                Change::Add { id, vector: Some(read_vector(*seq, bytes)?) }
            }
            kind::ADD_WITHOUT_VECTOR => Change::Add { id, vector: None },
            kind::FORGET => Change::Forget(id.unwrap_or_default()),
            _ => Change::Clear,
        };
        let (seq, at) = (*seq as u64, Duration::from_millis(*at as u64));
        entries.push(LogEntry { seq, at, change, own: usize::try_from(*own).ok() });
    }
    Ok(Page { reset, is_last, entries })
}

/// A vector of an entry. That of a model has length 1, which damage rarely keeps.
fn read_vector(seq: f64, bytes: &[u8]) -> knowledgepulse_scoring::Result<Box<[f32]>> {
    let numbers = bytes.chunks_exact(NUMBER);
    let vector: Box<[f32]> =
        numbers.map(|number| f32::from_le_bytes(number.try_into().unwrap_or_default())).collect();
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if (length - 1.0).abs() <= LENGTH_TOLERANCE {
        return Ok(vector);
    }
    let message =
        format!("entry {seq} of the store: expected a vector of length 1, got one of {length}");
    Err(Error::store(StoreFault::Invalid, message))
}
