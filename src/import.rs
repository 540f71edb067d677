//! The JavaScript class `TraceImporter`, behind `importTraces`.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
};

use knowledgepulse_import::Importer;
use knowledgepulse_scoring::Error;
use napi::{
    Env, Result,
    bindgen_prelude::{Uint8Array, Unknown},
};
use napi_derive::napi;

use crate::{env::in_queue, failure::or_throw, options::read_import_options, view::JsView};

/// How much of JSON one call hands over at least, if there is as much.
const BATCH_BYTES: usize = 256 << 10;

/// An importer of which JavaScript makes one call at a time, off the event loop.
#[derive(Clone)]
pub struct FedImporter(Arc<Mutex<Importer>>);

impl FedImporter {
    /// `files` are the inputs that are files.
    pub fn new(env: &Env, options: Unknown, files: Vec<String>) -> Result<Self> {
        let options = or_throw(env, read_import_options(&JsView::new(env, options)))?;
        let files = files.into_iter().map(PathBuf::from).collect();
        Ok(Self(Arc::new(Mutex::new(Importer::new(options, files)))))
    }

    pub fn lock(&self) -> MutexGuard<'_, Importer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What became of the inputs so far, as JSON; `None` while a call is under way, which may take long.
    pub fn report(&self) -> Result<Option<String>> {
        let importer = match self.0.try_lock() {
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
    /// `files` are the inputs that are files.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, options: Unknown, files: Vec<String>) -> Result<Self> {
        Ok(Self { importer: FedImporter::new(env, options, files)? })
    }

    /// Begins an input; `path` is that of a file.
    #[napi(catch_unwind)]
    pub fn open(&self, name: String, path: Option<String>) {
        self.importer.lock().open(&name, path.map(Into::into));
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
            Ok(imported) => serde_json::to_string(&imported),
            Err(error) => serde_json::to_string(&serde_json::json!({ "error": error })),
        };
        let json = json.map_err(Error::internal)?;
        bytes += json.len();
        items.push(json);
    }
    Ok(items)
}
