//! The models of the process: shared by all who want the same, loaded on first use.

use std::{
    panic::catch_unwind,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use knowledgepulse_tasks::{available_cores, fault};

use crate::{BackendKind, EmbedError, Embedder, Precision, model_files::library_file_name};

/// After a failure, calls within this time get the same answer; the first one later tries again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The models in use. One that nobody refers to any more is freed.
static MODELS: Mutex<Vec<Weak<SharedModel>>> = Mutex::new(Vec::new());

/// Where a model comes from and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// The folder with `manifest.json` and the files that it names.
    pub model_dir: PathBuf,
    /// What runs the model.
    pub backend: BackendKind,
    /// The ONNX Runtime library, for that backend.
    pub library: PathBuf,
    /// The precision that is asked for.
    pub precision: Precision,
    /// Threads that work on a text that is alone, at least 1.
    pub threads: usize,
}

impl ModelSettings {
    /// Returns the default settings of a platform package, with model and library in `folder`.
    pub fn beside(folder: &Path) -> Self {
        Self {
            model_dir: folder.join("model"),
            backend: BackendKind::default(),
            library: folder.join(library_file_name()),
            precision: Precision::default(),
            threads: available_cores(),
        }
    }

    /// Returns the settings as far as they make a difference: the native backend needs no library, and
    /// knows one precision.
    fn effective(self) -> Self {
        match self.backend {
            BackendKind::Onnx => self,
            BackendKind::Native => {
                Self { library: PathBuf::new(), precision: Precision::Exact, ..self }
            }
        }
    }
}

/// How far a model has been loaded.
#[derive(Clone)]
pub enum LoadState {
    /// Not needed so far.
    Idle,
    /// A thread is loading it.
    Loading,
    /// Loaded.
    Ready(Arc<Embedder>),
    /// Not to be had.
    Failed {
        /// Why.
        error: EmbedError,
        /// Since when.
        at: Instant,
    },
}

/// A model of the process with given settings.
pub struct SharedModel {
    settings: ModelSettings,
    state: Mutex<LoadState>,
    changed: Condvar,
}

impl SharedModel {
    /// Returns the model with these settings. Nothing is loaded yet; an earlier failure to load it is
    /// forgotten.
    pub fn with(settings: ModelSettings) -> Arc<Self> {
        let settings = settings.effective();
        let mut models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_usable = |model: &SharedModel| !matches!(*model.lock(), LoadState::Failed { .. });
        models.retain(|model| model.upgrade().is_some_and(|model| is_usable(&model)));
        let mut known = models.iter().filter_map(Weak::upgrade);
        if let Some(model) = known.find(|model| model.settings == settings) {
            return model;
        }
        let (state, changed) = (Mutex::new(LoadState::Idle), Condvar::new());
        let model = Arc::new(Self { settings, state, changed });
        models.push(Arc::downgrade(&model));
        model
    }

    /// Returns the settings as far as they make a difference.
    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// Returns how far the model has been loaded. Never waits for a load.
    pub fn state(&self) -> LoadState {
        self.lock().clone()
    }

    /// Returns the model, loaded if need be; waits for a load that another thread has begun.
    ///
    /// # Errors
    ///
    /// Why it is not to be had at present.
    pub fn get(&self) -> Result<Arc<Embedder>, EmbedError> {
        let mut state = self.lock();
        loop {
            match &*state {
                LoadState::Ready(embedder) => return Ok(embedder.clone()),
                LoadState::Failed { error, at } if at.elapsed() < RETRY_AFTER => {
                    return Err(error.clone());
                }
                LoadState::Loading => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                LoadState::Idle | LoadState::Failed { .. } => {
                    *state = LoadState::Loading;
                    drop(state);
                    return self.load();
                }
            }
        }
    }

    fn load(&self) -> Result<Arc<Embedder>, EmbedError> {
        // A panic must not leave other threads waiting for this load.
        let loaded = catch_unwind(|| {
            fault::point("load");
            Embedder::load(&self.settings)
        })
        .unwrap_or_else(|_| Err(EmbedError::Model("loading it panicked".into())))
        .map(Arc::new);
        *self.lock() = match &loaded {
            Ok(embedder) => LoadState::Ready(embedder.clone()),
            Err(error) => LoadState::Failed { error: error.clone(), at: Instant::now() },
        };
        self.changed.notify_all();
        loaded
    }

    fn lock(&self) -> MutexGuard<'_, LoadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(folder: &str) -> ModelSettings {
        ModelSettings {
            library: "library".into(),
            backend: BackendKind::Onnx,
            threads: 2,
            ..ModelSettings::beside(folder.as_ref())
        }
    }

    fn share(a: &ModelSettings, b: &ModelSettings) -> bool {
        Arc::ptr_eq(&SharedModel::with(a.clone()), &SharedModel::with(b.clone()))
    }

    #[test]
    fn with_shares_what_loads_the_same_model() {
        let base = settings("shared");
        assert!(share(&base, &base));
        let native = ModelSettings { backend: BackendKind::Native, ..base };
        let elsewhere = ModelSettings { library: "elsewhere".into(), ..native.clone() };
        assert!(share(&native, &elsewhere), "it needs no library");
        assert!(share(&native, &ModelSettings { precision: Precision::Fast, ..native.clone() }));
    }

    #[test]
    fn with_keeps_other_models_apart() {
        let base = settings("apart");
        for other in [
            ModelSettings { backend: BackendKind::Native, ..base.clone() },
            ModelSettings { model_dir: "elsewhere".into(), ..base.clone() },
            ModelSettings { library: "elsewhere".into(), ..base.clone() },
            ModelSettings { precision: Precision::Fast, ..base.clone() },
            ModelSettings { threads: 1, ..base.clone() },
        ] {
            assert!(!share(&base, &other), "{other:?}");
        }
    }

    #[test]
    fn with_forgets_a_failure() {
        let first = SharedModel::with(settings("missing"));
        assert!(first.get().is_err());
        assert!(matches!(first.state(), LoadState::Failed { .. }));
        let again = SharedModel::with(settings("missing"));
        assert!(matches!(again.state(), LoadState::Idle));
    }
}
