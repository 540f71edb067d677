//! The models of the process: shared by all who want the same, loaded on first use.

use std::{
    panic::catch_unwind,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use knowledgepulse_tasks::{available_cores, fault};

use crate::{
    BackendKind, EmbedError, Embedder, Pooling, Precision,
    folder::CONFIG,
    model_files::{MANIFEST, library_file_name},
    source::Source,
};

/// After a failure, calls within this time get the same answer; the first one later tries again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The models in use. One that nobody refers to any more is freed.
static MODELS: Mutex<Vec<Weak<SharedModel>>> = Mutex::new(Vec::new());

/// The loaded models of the user's own, by what they are and how they are run: folders with the same contents
/// share one.
static LOADED: Mutex<Vec<(String, Weak<Embedder>)>> = Mutex::new(Vec::new());

/// What a model of the user's own is like, where its folder does not say so or is not to count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelOptions {
    /// How the vectors of tokens become one.
    pub pooling: Option<Pooling>,
    /// Whether vectors are scaled to length 1. Default: yes, unless the folder lists modules and has
    /// none for that.
    pub normalize: Option<bool>,
    /// The most tokens of a window, special ones included.
    pub max_tokens: Option<usize>,
    /// What stands before each text. Default: the default prompt of the folder, or nothing.
    pub prefix: Option<String>,
    /// The output of the graph.
    pub output: Option<String>,
}

impl ModelOptions {
    /// Returns the name of an option that is given, if there is one.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let Self { pooling, normalize, max_tokens, prefix, output } = self;
        let given = [
            ("pooling", pooling.is_some()),
            ("normalize", normalize.is_some()),
            ("maxTokens", max_tokens.is_some()),
            ("prefix", prefix.is_some()),
            ("output", output.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

/// Where a model comes from and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// The folder of a platform package, with the built-in model and the library.
    pub package: PathBuf,
    /// The folder of another model. Default: the built-in one.
    pub model: Option<PathBuf>,
    /// What that model is like.
    pub options: ModelOptions,
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
            package: folder.to_owned(),
            model: None,
            options: ModelOptions::default(),
            backend: BackendKind::default(),
            library: folder.join(library_file_name()),
            precision: Precision::default(),
            threads: available_cores(),
        }
    }

    /// Returns the folder of the model.
    pub fn folder(&self) -> PathBuf {
        self.model.clone().unwrap_or_else(|| self.package.join("model"))
    }

    /// Returns whether the folder has the layout of the built-in model.
    pub(crate) fn is_built_in(&self) -> bool {
        let has = |name| self.folder().join(name).exists();
        self.model.is_none() || has(MANIFEST) || !has(CONFIG)
    }

    /// Returns what runs the model: only the native backend computes the built-in model in integers.
    fn effective_backend(&self) -> BackendKind {
        match self.precision {
            Precision::Fast if self.is_built_in() => BackendKind::Native,
            _ => self.backend,
        }
    }

    /// Returns the settings as far as they make a difference: the native backend needs no library.
    fn effective(mut self) -> Self {
        if self.model.as_ref() == Some(&self.package.join("model")) {
            self.model = None;
        }
        match self.effective_backend() {
            BackendKind::Onnx => self,
            backend @ BackendKind::Native => Self { backend, library: PathBuf::new(), ..self },
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
            load(&self.settings)
        })
        .unwrap_or_else(|_| Err(EmbedError::Model("loading it panicked".into())));
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

/// Returns what the embeddings of a model depend on, as 64 hexadecimal digits, without loading it: those of models
/// with the same fingerprint can be compared with each other. Reads all files of a model of the user's own.
///
/// # Errors
///
/// What is missing or cannot be read.
pub fn fingerprint(settings: &ModelSettings) -> Result<String, EmbedError> {
    Source::open(settings)?.fingerprint()
}

fn load(settings: &ModelSettings) -> Result<Arc<Embedder>, EmbedError> {
    let source = Source::open(settings)?;
    let fingerprint = source.fingerprint()?;
    let Source::Own(folder) = &source else {
        return Embedder::load(&source, settings, fingerprint).map(Arc::new);
    };
    let ModelSettings { library, backend, threads, .. } = settings;
    let (checks, library) = (folder.checks(), library.display());
    let key = format!("{fingerprint} {checks} {backend:?} {threads} {library}");
    let loaded = || LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |models: &[(String, Weak<Embedder>)]| {
        models.iter().find(|(known, _)| *known == key).and_then(|(_, model)| model.upgrade())
    };
    let known = same(&loaded());
    if let Some(embedder) = known {
        return Ok(embedder);
    }
    let embedder = Arc::new(Embedder::load(&source, settings, fingerprint)?);
    let mut models = loaded();
    models.retain(|(_, model)| model.strong_count() > 0);
    // Somebody may have loaded the same in the meantime.
    Ok(same(&models).unwrap_or_else(|| {
        models.push((key.clone(), Arc::downgrade(&embedder)));
        embedder
    }))
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
        let fast = ModelSettings { precision: Precision::Fast, ..native };
        let onnx = ModelSettings { backend: BackendKind::Onnx, ..fast.clone() };
        assert!(share(&fast, &onnx), "integers are for the native backend");
    }

    #[test]
    fn with_keeps_other_models_apart() {
        let base = settings("apart");
        for other in [
            ModelSettings { backend: BackendKind::Native, ..base.clone() },
            ModelSettings { model: Some("elsewhere".into()), ..base.clone() },
            ModelSettings { package: "elsewhere".into(), ..base.clone() },
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
