//! Passes calls to JavaScript, which reaches the store, and entries of the store back.

use std::{sync::Arc, time::Duration};

use knowledgepulse_scoring::{
    Error, Id, StoreFault,
    scorer::{Change, Page, StoreMemory, StoredEntry},
    snapshot::Position,
};
use knowledgepulse_workers::WORKERS;
use napi::{
    Env, Result,
    bindgen_prelude::{Buffer, Uint8Array, Unknown},
};
use napi_derive::napi;
use serde_json::json;

use crate::{
    env::{Outbox, in_background, spawn},
    scorer::NativeScorer,
};

/// The request of a call: to append an `add`, `forget` or `clear`, or to `read` everything. `embedding` is
/// little-endian float32.
#[napi(object, object_from_js = false)]
pub struct StoreRequest {
    pub kind: &'static str,
    pub id: Option<String>,
    pub embedding: Option<Buffer>,
}

#[napi]
impl NativeScorer {
    fn store_memory(&self) -> Result<&Arc<StoreMemory>> {
        let memory = self.engine.store_memory();
        memory.ok_or_else(|| napi::Error::from_reason("the scorer has no store"))
    }

    /// Resolves to the next requests, at most `limit`, when calls have come. The promise does not keep the process
    /// alive.
    #[napi(catch_unwind)]
    pub fn next_batch<'env>(&self, env: &'env Env, limit: u32) -> Result<Unknown<'env>> {
        let (promise, mut deferred) = Outbox::promise(env, false)?;
        let taker = move |batch: Vec<Option<Change>>| {
            deferred.settle(Ok(batch), |_, batch| {
                Ok(batch.into_iter().map(StoreRequest::from).collect::<Vec<_>>())
            });
        };
        let memory = self.store_memory()?.clone();
        if memory.next_batch(limit as usize, Box::new(taker)) {
            let engine = self.engine.clone();
            let hand_over = move || {
                memory.hand_over();
                Ok(())
            };
            // Without a thread, on this one.
            spawn(&WORKERS, || Ok(()), move |_| drop(engine.during(hand_over)));
        }
        Ok(promise)
    }

    /// Resolves the promise of `nextBatch` to no requests, if it is pending.
    #[napi(catch_unwind)]
    pub fn end_wait(&self) -> Result<()> {
        self.store_memory().map(|memory| memory.end_wait())
    }

    /// Returns the last applied entry of the store, as `StorePosition` in JSON; `null` to read from the beginning.
    #[napi(catch_unwind)]
    pub fn store_position(&self) -> Result<String> {
        let position = self.store_memory()?.position();
        let shown =
            |Position { epoch, seq, call, .. }| json!({ "epoch": epoch, "seq": seq, "call": call });
        Ok(json!(position.map(shown)).to_string())
    }

    /// Applies a page from `lib/page.js`, and answers the calls whose entries are in it. Resolves to the time
    /// from which the store must keep entries. The bytes of the vectors are contiguous.
    #[napi(catch_unwind)]
    pub fn apply<'env>(
        &self,
        env: &'env Env,
        json: String,
        bytes: Uint8Array,
    ) -> Result<Unknown<'env>> {
        let (scorer, memory) = (self.engine.clone(), self.store_memory()?.clone());
        let bytes = bytes.to_vec();
        let apply = move || {
            let page = unpack(&json, &bytes)?;
            let time: Duration = scorer.during(|| memory.apply(page))?;
            Ok(time.as_millis() as f64)
        };
        in_background(&WORKERS, env, apply)
    }

    /// Answers the requests that append nothing, before the promise resolves. `now` is the time in milliseconds since
    /// 1970.
    #[napi(catch_unwind)]
    pub fn finish_batch<'env>(&self, env: &'env Env, now: f64) -> Result<Unknown<'env>> {
        let (engine, memory) = (self.engine.clone(), self.store_memory()?.clone());
        let finish = move || {
            memory.finish_batch(Duration::from_millis(now as u64));
            Ok(())
        };
        in_background(&WORKERS, env, move || engine.during(finish))
    }

    /// Answers the remaining requests after the store failed.
    #[napi(catch_unwind)]
    pub fn fail_batch(&self, code: String, reason: String) -> Result<()> {
        let fault = match code.as_str() {
            "STORE_MISMATCH" => StoreFault::Mismatch,
            "INVALID_STORE" => StoreFault::Invalid,
            _ => StoreFault::Unavailable,
        };
        self.store_memory().map(|memory| memory.fail_batch(&Error::store(fault, reason)))
    }

    /// Resolves to the fingerprint of the model, and fixes the length of vectors to that of the model.
    #[napi(catch_unwind)]
    pub fn fingerprint<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let memory = self.store_memory()?.clone();
        let embedder = self.embedder(env)?;
        let lane = embedder.lane();
        let fingerprint = move || {
            memory.set_vector_len(embedder.dimensions()?);
            Ok(embedder.fingerprint()?.to_string())
        };
        let engine = self.engine.clone();
        in_background(lane, env, move || engine.during(fingerprint))
    }
}

impl From<Option<Change>> for StoreRequest {
    fn from(change: Option<Change>) -> Self {
        let (kind, id, vector) = match change {
            Some(Change::Add { id, vector }) => ("add", id, vector),
            Some(Change::Forget(id)) => ("forget", id, None),
            Some(Change::Clear) => ("clear", None, None),
            None => ("read", None, None),
        };
        let bytes = |vector: Box<[f32]>| {
            vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>().into()
        };
        Self { kind, id: id.map(|id| id.to_string()), embedding: vector.map(bytes) }
    }
}

/// An entry as `lib/page.js` packs it: `seq`, time in milliseconds, call, kind, id, size of the vector in bytes, and index of
/// the call in the current batch.
type PackedEntry = (u64, u64, Box<str>, Box<str>, Option<Id>, Option<usize>, Option<usize>);

/// Returns the page that `lib/page.js` has packed.
fn unpack(json: &str, mut bytes: &[u8]) -> knowledgepulse_scoring::Result<Page> {
    let page = serde_json::from_str(json).map_err(Error::internal)?;
    let (epoch, head, first, reset, entries): (_, _, _, _, Vec<PackedEntry>) = page;
    let entry = |(seq, at, call, kind, id, length, own): PackedEntry| {
        let vector = match length {
            None => None,
            Some(length) => {
                let (vector, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                let (numbers, _) = vector.as_chunks();
                Some(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
            }
        };
        let change = match &*kind {
            "add" => Change::Add { id, vector },
            "forget" => Change::Forget(id),
            _ => Change::Clear,
        };
        Some(StoredEntry { seq, at: Duration::from_millis(at), call, change, own })
    };
    let entries = entries.into_iter().map(entry).collect::<Option<_>>();
    let entries = entries.ok_or_else(|| Error::internal("vectors are missing"))?;
    Ok(Page { epoch, head, first, reset, entries })
}
