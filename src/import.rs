//! The JavaScript class `TraceImporter`, behind `importTraces`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use knowledgepulse_import::Importer;
use knowledgepulse_tasks::CancelToken;
use napi::{
    Env, Result,
    bindgen_prelude::{Uint8Array, Unknown},
};
use napi_derive::napi;

use crate::{
    env::in_queue,
    js::{Value, options::read_import_options, or_throw},
};

/// How much of JSON one call hands over at least, if there is as much.
const BATCH_BYTES: usize = 256 << 10;

/// An importer of which JavaScript makes one call at a time, off the event loop.
#[derive(Clone)]
pub struct FedImporter {
    importer: Arc<Mutex<Importer>>,
    cancel: CancelToken,
}

impl FedImporter {
    pub fn new(env: &Env, options: Unknown) -> Result<Self> {
        let options = or_throw(env, read_import_options(&Value::new(env, options)))?;
        let importer = Importer::new(options);
        let cancel = importer.cancel_token();
        Ok(Self { importer: Arc::new(Mutex::new(importer)), cancel })
    }

    /// Ends what is being read, and lets nothing more be read.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    pub fn lock(&self) -> MutexGuard<'_, Importer> {
        self.importer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What became of the inputs so far, as JSON; `None` while a call is under way, which may take long.
    pub fn report(&self) -> Result<Option<String>> {
        let importer = match self.importer.try_lock() {
            Ok(importer) => importer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        serde_json::to_string(importer.report())
            .map(Some)
            .map_err(|error| napi::Error::from_reason(error.to_string()))
    }
}

/// Imports inputs one after another.
#[napi]
pub struct TraceImporter {
    importer: FedImporter,
}

#[napi]
impl TraceImporter {
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, options: Unknown) -> Result<Self> {
        Ok(Self { importer: FedImporter::new(env, options)? })
    }

    /// Begins an input.
    #[napi(catch_unwind)]
    pub fn open(&self, name: String) {
        self.importer.lock().open(&name);
    }

    /// Ends what is being read, and lets nothing more be read.
    #[napi(catch_unwind)]
    pub fn abort(&self) {
        self.importer.cancel();
    }

    /// Reads a piece of the input. Resolves as `next` does.
    #[napi(catch_unwind)]
    pub fn push<'env>(&self, env: &'env Env, bytes: Uint8Array) -> Result<Unknown<'env>> {
        let bytes = bytes.to_vec();
        self.run(env, move |importer| importer.push(&bytes))
    }

    /// Ends the input. Resolves as `next` does.
    #[napi(catch_unwind)]
    pub fn end<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        self.run(env, Importer::end)
    }

    /// Resolves to the next traces and errors as JSON, none if more input is needed.
    #[napi(catch_unwind)]
    pub fn next<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        self.run(env, |_| {})
    }

    /// What became of the inputs so far, as JSON; `null` while a call is under way.
    #[napi(catch_unwind)]
    pub fn report(&self) -> Result<Option<String>> {
        self.importer.report()
    }
}

impl TraceImporter {
    /// Does `work` off the event loop, and then takes the next traces and errors.
    fn run<'env>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&mut Importer) + Send + 'static,
    ) -> Result<Unknown<'env>> {
        let importer = self.importer.clone();
        let run = move || {
            let mut importer = importer.lock();
            work(&mut importer);
            next(&mut importer)
        };
        in_queue(env, run)
    }
}

fn next(importer: &mut Importer) -> knowledgepulse_scoring::Result<Vec<String>> {
    let mut items: Vec<String> = Vec::new();
    let mut bytes = 0;
    while bytes < BATCH_BYTES
        && let Some(item) = importer.next()
    {
        let json = match item {
            Ok(imported) => imported.to_json(),
            Err(error) => serde_json::json!({ "error": error }).to_string(),
        };
        bytes += json.len();
        items.push(json);
    }
    Ok(items)
}
