//! Calls on their way to a store, which JavaScript reaches, and its entries on their way back.

use std::{collections::HashMap, fmt::Display, mem, sync::Arc, time::Duration};

use knowledgepulse_scoring::{
    Error, StoreFault,
    scorer::{Change, Page, Request, SharedMemory, StoredEntry},
    snapshot::Position,
};
use knowledgepulse_workers::WORKERS;
use napi::{
    Env, Result,
    bindgen_prelude::{Buffer, Unknown},
};
use napi_derive::napi;

use crate::{
    env::{EnvState, in_background},
    js::{Read, ReadError, Value, or_throw},
    scorer::Scorer,
};

/// JavaScript has no greater number of which every smaller one is exact.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// What a call asks of the store: to append an `add`, `forget` or `clear`, or to `read` everything. A vector is
/// float32, little-endian.
#[napi(object, object_from_js = false)]
pub struct StoreRequest {
    pub kind: &'static str,
    pub id: Option<String>,
    pub embedding: Option<Buffer>,
}

#[napi(object, object_from_js = false)]
pub struct StorePosition {
    pub epoch: String,
    pub seq: f64,
    pub call: String,
}

#[napi]
impl Scorer {
    fn shared_memory(&self) -> Result<&Arc<SharedMemory>> {
        let memory = self.engine.shared_memory();
        memory.ok_or_else(|| napi::Error::from_reason("the scorer has no store"))
    }

    /// A promise of the next requests, at most `limit`, which does not keep the process alive.
    #[napi(catch_unwind)]
    pub fn next_batch<'env>(&self, env: &'env Env, limit: u32) -> Result<Unknown<'env>> {
        let (promise, deferred) = EnvState::of(env)?.outbox.promise(env, false)?;
        let taker = move |batch: Vec<Request>| {
            deferred.settle(Ok(batch), |_, batch| {
                Ok(batch.into_iter().map(StoreRequest::from).collect::<Vec<_>>())
            });
        };
        self.shared_memory()?.next_batch(limit as usize, Box::new(taker));
        Ok(promise)
    }

    /// The last entry of the store that was applied, as `StorePosition`; `null` to read from the beginning.
    #[napi(catch_unwind)]
    pub fn store_position(&self) -> Result<Option<StorePosition>> {
        let position = self.shared_memory()?.position();
        let shown = |Position { epoch, seq, call, .. }| StorePosition {
            epoch,
            seq: seq as f64,
            call: call.into(),
        };
        Ok(position.map(shown))
    }

    /// Applies a page, and answers the calls whose entries are in it. The promise resolves to the time from which on
    /// the store must keep entries.
    #[napi(catch_unwind)]
    pub fn apply<'env>(&self, env: &'env Env, page: &mut PageReader) -> Result<Unknown<'env>> {
        let page = mem::take(&mut page.page);
        let (scorer, memory) = (self.engine.clone(), self.shared_memory()?.clone());
        let milliseconds = |_: &Env, time: Duration| Ok(time.as_millis() as f64);
        in_background(&WORKERS, env, move || scorer.during(|| memory.apply(page)), milliseconds)
    }

    /// Answers the requests that append nothing. `now` is the present time in milliseconds.
    #[napi(catch_unwind)]
    pub fn finish_batch(&self, now: f64) -> Result<()> {
        self.shared_memory()?.finish_batch(Duration::from_millis(now as u64));
        Ok(())
    }

    /// Answers the rest of the requests without the store, for a reason with a code.
    #[napi(catch_unwind)]
    pub fn fail_batch(&self, code: String, reason: String) -> Result<()> {
        let fault = match code.as_str() {
            "STORE_MISMATCH" => StoreFault::Mismatch,
            "INVALID_STORE" => StoreFault::Invalid,
            _ => StoreFault::Unavailable,
        };
        self.shared_memory()?.fail_batch(&Error::store(fault, reason));
        Ok(())
    }

    /// A promise of the fingerprint of the model, whose vectors the store has from then on.
    #[napi(catch_unwind)]
    pub fn fingerprint<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let (scorer, memory) = (self.clone(), self.shared_memory()?.clone());
        let fingerprint = move || {
            let embedder = scorer.embedder()?;
            // The length of the built-in model's vectors is known; another one has to be asked.
            if embedder.model.settings().model.is_some() {
                let loaded = embedder.model.get().map_err(Error::embedder_unavailable)?;
                memory.set_vector_len(loaded.dimensions);
            }
            embedder.fingerprint()
        };
        let engine = self.engine.clone();
        in_background(
            &WORKERS,
            env,
            move || engine.during(fingerprint),
            |_, found| Ok(found.to_string()),
        )
    }
}

impl From<Request> for StoreRequest {
    fn from(request: Request) -> Self {
        let (kind, id, vector) = match request {
            Request::Append(Change::Add { id, vector }) => ("add", id, vector),
            Request::Append(Change::Forget(id)) => ("forget", Some(id), None),
            Request::Append(Change::Clear) => ("clear", None, None),
            Request::Read => ("read", None, None),
        };
        let bytes = |vector: Box<[f32]>| {
            vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>().into()
        };
        Self { kind, id: id.map(|id| id.to_string()), embedding: vector.map(bytes) }
    }
}

fn invalid(place: impl Display, expected: &str, found: &Value) -> ReadError {
    let message = format!("{place}: expected {expected}, got {}", found.describe());
    Error::store(StoreFault::Invalid, message).into()
}

/// Reads a page of a store: everything but what follows from the entries before it.
#[napi]
pub struct PageReader {
    page: Page,
    /// The calls of the present batch, by their UUIDs.
    own: HashMap<String, usize>,
}

#[napi]
impl PageReader {
    /// Reads all but the entries, and throws if it is not a page. `header` is that of the scorer, and `calls` has the
    /// call of each request of the present batch.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, page: Value, header: Value, calls: Vec<String>) -> Result<Self> {
        let page = or_throw(env, read_page(&page, &header))?;
        Ok(Self { page, own: calls.into_iter().zip(0..).collect() })
    }

    /// Reads the entries from `start` up to `end`. Throws if there is one that is none.
    #[napi(catch_unwind)]
    pub fn read(&mut self, env: &Env, entries: Value, start: u32, end: u32) -> Result<()> {
        let mut read = || -> Read<()> {
            let [seq, at, call, id, kind, embedding] =
                ["seq", "at", "call", "id", "kind", "embedding"].map(|name| entries.key(name));
            let keys = [seq?, at?, call?, id?, kind?, embedding?];
            for index in start..end {
                let entry = read_entry(&entries.element(index)?, &keys, index, &self.own)?;
                self.page.entries.push(entry);
            }
            Ok(())
        };
        or_throw(env, read())
    }
}

fn read_page(page: &Value, header: &Value) -> Read<Page> {
    if !page.is_object() {
        return Err(invalid("page of the store", "an object", page));
    }
    check_header(&page.property("header")?, header)?;
    let epoch = page.property("epoch")?;
    let epoch = epoch.string().ok_or_else(|| invalid("epoch of the store", "a string", &epoch))?;
    let reset = page.property("reset")?;
    let reset =
        reset.boolean().ok_or_else(|| invalid("reset of the store", "a boolean", &reset))?;
    let entries = page.property("entries")?;
    if !entries.is_object() || !entries.is_array()? {
        return Err(invalid("entries of the store", "an array", &entries));
    }
    Ok(Page {
        epoch,
        head: whole("head of the store", &page.property("head")?, 0)?,
        first: whole("first of the store", &page.property("first")?, 1)?,
        reset,
        entries: Vec::new(),
    })
}

fn check_header(found: &Value, expected: &Value) -> Read<()> {
    if !found.is_object() {
        return Err(invalid("header of the store", "an object", found));
    }
    let shown =
        |value: Value| (value.type_of(), value.string().unwrap_or_else(|| value.describe()));
    for name in ["model", "maxElements", "ttlMs"] {
        let (found, expected) = (shown(found.property(name)?), shown(expected.property(name)?));
        if found != expected {
            let (found, expected) = (found.1, expected.1);
            let message =
                format!("the namespace of the store has {name} {found}, this scorer {expected}");
            return Err(Error::store(StoreFault::Mismatch, message).into());
        }
    }
    Ok(())
}

fn read_entry(
    entry: &Value,
    [seq, at, call, id, kind, embedding]: &[Value; 6],
    index: u32,
    own: &HashMap<String, usize>,
) -> Read<StoredEntry> {
    if !entry.is_object() {
        return Err(invalid(format_args!("entries[{index}] of the store"), "an object", entry));
    }
    let seq = whole(format_args!("entries[{index}].seq of the store"), &entry.get(seq)?, 1)?;
    let place = |field| format!("entry {seq} of the store: {field}");
    let at = whole(place("at"), &entry.get(at)?, 0)?;
    let call = entry.get(call)?;
    let uuid = call.string().filter(|call| is_uuid(call));
    let uuid = uuid.ok_or_else(|| invalid(place("call"), "a UUID", &call))?;
    let id = entry.get(id)?;
    let name = id.or_null(id.string());
    let name = name.ok_or_else(|| invalid(place("id"), "a string or null", &id))?;
    let name: Option<Arc<str>> = name.map(Into::into);
    let kind = entry.get(kind)?;
    let change = match kind.string().unwrap_or_default().as_str() {
        "add" => {
            let embedding = entry.get(embedding)?;
            Change::Add { id: name, vector: read_vector(place("embedding"), &embedding)? }
        }
        "forget" => Change::Forget(name.ok_or_else(|| invalid(place("id"), "a string", &id))?),
        "clear" => Change::Clear,
        _ => {
            let expected = "\"add\", \"forget\" or \"clear\"";
            return Err(invalid(place("kind"), expected, &kind));
        }
    };
    let (at, own) = (Duration::from_millis(at), own.get(&uuid).copied());
    Ok(StoredEntry { seq, at, call: uuid.into(), change, own })
}

fn read_vector(place: impl Display, value: &Value) -> Read<Option<Box<[f32]>>> {
    let bytes = value.or_null(value.bytes());
    let bytes = bytes.ok_or_else(|| invalid(&place, "a Uint8Array or null", value))?;
    let Some(bytes) = bytes else { return Ok(None) };
    match bytes.as_chunks() {
        (floats, []) => Ok(Some(floats.iter().map(|float| f32::from_le_bytes(*float)).collect())),
        _ => Err(invalid(place, "bytes of float32", &value.property("length")?)),
    }
}

/// Reads a whole number that JavaScript holds exactly.
fn whole(place: impl Display, value: &Value, least: u64) -> Read<u64> {
    let range = least as f64..=MAX_SAFE_INTEGER;
    let number = value.number().filter(|number| number.fract() == 0.0 && range.contains(number));
    let expected = || invalid(place, &format!("a safe integer, {least} or more"), value);
    number.map(|number| number as u64).ok_or_else(expected)
}

fn is_uuid(text: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && text.split('-').all(is_hex)
}
