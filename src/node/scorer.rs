//! The native side of the JavaScript class `Scorer`.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, PoisonError},
};

use napi::{
    Env, Result,
    bindgen_prelude::{AsyncTask, Buffer, Object, Unknown},
};
use napi_derive::napi;

use super::{
    call,
    options::{self, ScorerChanges},
    report, settings,
    state::EnvState,
    status::Status,
    vector_cache::VectorCache,
};
use crate::{
    cache::{self, CacheOptions},
    embedder::{EmbedderHandle, LongText, ModelFiles},
    error::{self, Error},
    fault,
    scorer::{self, CallHandle, Detail, ScorerOptions, Task, monotonic_clock},
    snapshot,
};

/// A scorer with what embeds its texts.
#[derive(Clone)]
pub struct Owned {
    pub scorer: Arc<scorer::Scorer>,
    /// `None` follows the settings of the process.
    embedder: Option<EmbedderHandle>,
}

impl Owned {
    /// The scorer behind `evaluateValue`.
    pub fn default_of_environment() -> error::Result<Self> {
        let scorer = scorer::Scorer::new(monotonic_clock, ScorerOptions::default())?;
        Ok(Self { scorer, embedder: None })
    }

    /// What embeds its texts from now on.
    pub fn embedder(&self) -> error::Result<EmbedderHandle> {
        self.embedder.clone().map_or_else(settings::current_embedder, Ok)
    }

    fn snapshot(&self) -> error::Result<Vec<u8>> {
        let fingerprint = fingerprint(&self.embedder()?, self.scorer.options().long_text)?;
        let mut cache = self.scorer.cache().lock().unwrap_or_else(PoisonError::into_inner);
        Ok(snapshot::encode(&mut cache, &fingerprint, self.scorer.now()))
    }
}

/// That of the model, without loading it, and of what it is given: embeddings of whole texts are not
/// to be compared with those of their beginnings.
fn fingerprint(embedder: &EmbedderHandle, long: LongText) -> error::Result<String> {
    let files = ModelFiles::open(&embedder.settings().model_dir);
    let model = files.and_then(|files| files.fingerprint()).map_err(Error::embedder_unavailable)?;
    Ok(match long {
        LongText::Window => model,
        LongText::Whole => format!("whole texts: {model}"),
    })
}

#[napi]
pub struct Scorer {
    owned: Owned,
}

#[napi]
impl Scorer {
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, options: Unknown) -> Result<Self> {
        let changes = report::or_throw(env, options::read_scorer(env, options))?;
        Self::make(env, changes, |_, options| cache::VectorCache::new(options))
    }

    /// A scorer that goes on with a snapshot, which comes from `place`.
    #[napi(factory, catch_unwind)]
    pub fn restore(env: &Env, bytes: Buffer, options: Unknown, place: String) -> Result<Self> {
        let changes = report::or_throw(env, options::read_scorer(env, options))?;
        let (has_cache, long) = (changes.has_cache, changes.scorer.long_text);
        Self::make(env, changes, |embedder, options| {
            let snapshot = snapshot::decode_from(&place, &bytes, &fingerprint(embedder, long)?)?;
            let options = if has_cache { options } else { snapshot.options() };
            snapshot.into_cache(options, monotonic_clock())
        })
    }

    fn make(
        env: &Env,
        changes: ScorerChanges,
        cache: impl FnOnce(&EmbedderHandle, CacheOptions) -> error::Result<cache::VectorCache>,
    ) -> Result<Self> {
        let made = settings::embedder_with(&changes.embedder).and_then(|embedder| {
            let options = changes.scorer;
            let cache = cache(&embedder, options.cache)?;
            let scorer = scorer::Scorer::with_cache(monotonic_clock, options, cache);
            Ok(Owned { scorer, embedder: Some(embedder) })
        });
        let owned = report::or_throw(env, made)?;
        EnvState::of(env)?.adopt(&owned.scorer);
        Ok(Self { owned })
    }

    /// The scorer behind `evaluateValue` in this environment.
    pub fn of_environment(env: &Env) -> Result<Self> {
        Ok(Self { owned: EnvState::of(env)?.default.clone() })
    }

    #[napi(catch_unwind)]
    pub fn call<'env>(
        &self,
        env: &'env Env,
        task: u32,
        trace: Unknown<'env>,
    ) -> Result<Unknown<'env>> {
        Ok(call::submit(env, &self.owned, task_of(task), trace)?.0)
    }

    /// A call that can be aborted: its promise, and a handle.
    #[napi(catch_unwind)]
    pub fn start<'env>(
        &self,
        env: &'env Env,
        task: u32,
        trace: Unknown<'env>,
    ) -> Result<Object<'env>> {
        let (promise, call) = call::submit(env, &self.owned, task_of(task), trace)?;
        let mut started = Object::new(env)?;
        started.set("promise", promise)?;
        started.set("handle", Handle { call })?;
        Ok(started)
    }

    #[napi(catch_unwind)]
    pub fn warmup<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        call::warm_up(env, &self.owned)
    }

    #[napi(catch_unwind)]
    pub fn forget(&self, id: String) -> u32 {
        self.owned.scorer.forget(&id) as u32
    }

    #[napi(catch_unwind)]
    pub fn clear(&self) {
        self.owned.scorer.clear_cache();
    }

    #[napi(catch_unwind)]
    pub fn snapshot(&self, env: &Env) -> Result<Buffer> {
        Ok(report::or_throw(env, self.owned.snapshot())?.into())
    }

    /// Writes a snapshot to a file, on a thread of its own; what the cache holds now.
    #[napi(catch_unwind)]
    pub fn save(&self, env: &Env, path: String) -> Result<AsyncTask<Save>> {
        let bytes = report::or_throw(env, self.owned.snapshot())?;
        Ok(AsyncTask::new(Save { path: path.into(), bytes }))
    }

    #[napi(catch_unwind)]
    pub fn cache(&self) -> VectorCache {
        VectorCache::of(self.owned.scorer.clone())
    }

    #[napi(catch_unwind)]
    pub fn status(&self, env: &Env) -> Result<Status> {
        Status::of(env, &self.owned)
    }

    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.owned.scorer.end();
    }
}

/// Bytes on their way to a file.
pub struct Save {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl napi::Task for Save {
    type Output = error::Result<()>;
    type JsValue = Option<SaveError>;

    fn compute(&mut self) -> Result<Self::Output> {
        let save = || {
            fault::point("save");
            snapshot::save(&self.path, &self.bytes)
        };
        let saved = catch_unwind(AssertUnwindSafe(save));
        Ok(saved.unwrap_or_else(|_| Err(Error::internal("writing the snapshot panicked"))))
    }

    /// Not as an error of Node-API's, which could not carry our code.
    fn resolve(&mut self, _: Env, saved: Self::Output) -> Result<Self::JsValue> {
        Ok(saved.err().map(|error| SaveError {
            message: error.to_string(),
            code: error.code().into(),
            path: error.path().map(Into::into),
        }))
    }
}

/// What `scorer.js` makes an `Error` of.
#[napi(object)]
pub struct SaveError {
    pub message: String,
    pub code: String,
    pub path: Option<String>,
}

/// A call that may be aborted.
#[napi(js_name = "CallHandle")]
pub struct Handle {
    /// `None` for a call that was refused at once.
    call: Option<CallHandle>,
}

#[napi]
impl Handle {
    #[napi(catch_unwind)]
    pub fn abort(&self) -> bool {
        self.call.as_ref().is_some_and(CallHandle::abort)
    }
}

/// The tasks in the order in which `scorer.js` numbers them.
fn task_of(number: u32) -> Task {
    match number {
        0 => Task::Score(Detail::Value),
        1 => Task::Score(Detail::Account),
        2 => Task::Peek(Detail::Value),
        _ => Task::Remember,
    }
}
