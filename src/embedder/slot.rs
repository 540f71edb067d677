//! The embedder of a process: loaded when it is first needed, tried again when that failed.

use std::{
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{EmbedError, Embedder, Precision};
use crate::fault;

/// After a failure, calls within this time get the same answer; the first one later tries again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Whether scores use the embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Use it; where it cannot be had, novelty is neutral and the status says why.
    #[default]
    Auto,
    /// Do not use it: novelty is neutral.
    Off,
    /// Use it; where it cannot be had, scoring fails.
    Required,
}

/// What runs the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// The ONNX Runtime library.
    OnnxRuntime,
    /// This crate alone: every precision is computed exactly.
    Rust,
}

impl Default for Runtime {
    /// There is no ONNX Runtime library for musl.
    fn default() -> Self {
        if cfg!(target_env = "musl") { Self::Rust } else { Self::OnnxRuntime }
    }
}

/// Where the embedder comes from and how it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub mode: Mode,
    /// The folder with `manifest.json` and the files it names.
    pub model_dir: PathBuf,
    pub runtime: Runtime,
    /// The ONNX Runtime library, if that is the runtime.
    pub library: PathBuf,
    /// The precision that is asked for.
    pub precision: Precision,
    /// Threads that work on one text.
    pub threads: usize,
}

impl Settings {
    /// The precision that there will be.
    pub fn actual_precision(&self) -> Precision {
        match self.runtime {
            Runtime::OnnxRuntime => self.precision,
            Runtime::Rust => Precision::Exact,
        }
    }
}

/// How far the embedder has got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Not needed so far.
    Idle,
    Loading,
    Ready {
        model: String,
    },
    /// Not to be had, for this reason.
    Unavailable {
        reason: EmbedError,
    },
}

enum Inner {
    Idle,
    Loading,
    Ready(Arc<Embedder>),
    Failed { error: EmbedError, at: Instant },
}

/// A place for an embedder with given settings.
pub struct EmbedderSlot {
    settings: Settings,
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl EmbedderSlot {
    /// An empty slot; nothing is loaded yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, inner: Mutex::new(Inner::Idle), changed: Condvar::new() }
    }

    /// The settings that it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How far it has got. Never waits for a load.
    pub fn state(&self) -> State {
        match &*self.lock() {
            Inner::Idle => State::Idle,
            Inner::Loading => State::Loading,
            Inner::Ready(embedder) => State::Ready { model: embedder.model().to_owned() },
            Inner::Failed { error, .. } => State::Unavailable { reason: error.clone() },
        }
    }

    /// Whether the last attempt to load has failed.
    pub fn has_failed(&self) -> bool {
        matches!(&*self.lock(), Inner::Failed { .. })
    }

    /// The embedder, loaded if need be; waits for a load that another thread has begun.
    ///
    /// # Errors
    ///
    /// Why it cannot be had at present.
    pub fn get(&self) -> Result<Arc<Embedder>, EmbedError> {
        let mut inner = self.lock();
        loop {
            match &*inner {
                Inner::Ready(embedder) => return Ok(embedder.clone()),
                Inner::Failed { error, at } if at.elapsed() < RETRY_AFTER => {
                    return Err(error.clone());
                }
                Inner::Loading => {
                    inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
                }
                Inner::Idle | Inner::Failed { .. } => {
                    *inner = Inner::Loading;
                    drop(inner);
                    return self.load();
                }
            }
        }
    }

    fn load(&self) -> Result<Arc<Embedder>, EmbedError> {
        // A panic must not leave other threads waiting for this load.
        let loaded = std::panic::catch_unwind(|| {
            fault::point("load");
            Embedder::load(&self.settings)
        })
        .unwrap_or_else(|_| Err(EmbedError::Model("loading it panicked".into())))
        .map(Arc::new);
        *self.lock() = match &loaded {
            Ok(embedder) => Inner::Ready(embedder.clone()),
            Err(error) => Inner::Failed { error: error.clone(), at: Instant::now() },
        };
        self.changed.notify_all();
        loaded
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
