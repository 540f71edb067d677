//! The models of the process: shared by all who want the same, loaded on first use.

use std::{
    fs::Metadata,
    panic::catch_unwind,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant, SystemTime},
};

use knowledgepulse_workers::{available_cores, fault};
use once_cell::sync::OnceCell;

use crate::{
    BackendKind, EmbedError, Embedder, Pooling, Precision,
    folder::CONFIG,
    kernels::int8::Machine,
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

    /// Returns the settings as far as they make a difference: the native backend needs no library, and the
    /// built-in model is exact where integers are not quick.
    fn effective(mut self, are_integers_quick: bool) -> Self {
        if !are_integers_quick && self.is_built_in() {
            self.precision = Precision::Exact;
        }
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
    /// What it was loaded from.
    files: OnceCell<Vec<FileState>>,
}

/// A file as it was when it was last looked at.
#[derive(PartialEq)]
struct FileState {
    path: PathBuf,
    /// Its size and time; `None` where there is none.
    found: Option<(u64, SystemTime)>,
}

impl FileState {
    fn of(path: PathBuf) -> Self {
        let state = |metadata: Metadata| Ok((metadata.len(), metadata.modified()?));
        let found = path.metadata().and_then(state).ok();
        Self { path, found }
    }

    fn is_current(&self) -> bool {
        *self == Self::of(self.path.clone())
    }
}

impl SharedModel {
    /// Returns the model with these settings. Nothing is loaded yet; an earlier failure to load it is
    /// forgotten. Where its files have changed since it was loaded, this is another one, and those who hold the
    /// earlier one keep it.
    pub fn with(settings: ModelSettings) -> Arc<Self> {
        let settings = settings.effective(Machine::detect().is_quick());
        let mut models = MODELS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = models.iter().filter_map(Weak::upgrade);
        if let Some(model) = known.find(|model| model.settings == settings)
            && model.is_current()
        {
            model.forget_failure();
            return model;
        }
        models.retain(|model| model.upgrade().is_some_and(|model| model.settings != settings));
        let (state, changed, files) =
            (Mutex::new(LoadState::Idle), Condvar::new(), OnceCell::new());
        let model = Arc::new(Self { settings, state, changed, files });
        models.push(Arc::downgrade(&model));
        model
    }

    fn is_current(&self) -> bool {
        self.files.get().is_none_or(|files| files.iter().all(FileState::is_current))
    }

    fn forget_failure(&self) {
        let mut state = self.lock();
        if matches!(*state, LoadState::Failed { .. }) {
            *state = LoadState::Idle;
        }
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
        let loaded = loaded.map(|(embedder, files)| {
            let _ = self.files.set(files);
            embedder
        });
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

fn load(settings: &ModelSettings) -> Result<(Arc<Embedder>, Vec<FileState>), EmbedError> {
    let source = Source::open(settings)?;
    // Before they are read, so that a change meanwhile is noticed later.
    let mut files: Vec<_> = source.files(settings).into_iter().map(FileState::of).collect();
    let embedder = load_from(&source, settings)?;
    if embedder.onnx_error().is_some() {
        files.push(FileState::of(settings.library.clone()));
    }
    Ok((embedder, files))
}

fn load_from(source: &Source, settings: &ModelSettings) -> Result<Arc<Embedder>, EmbedError> {
    let fingerprint = source.fingerprint()?;
    let Source::Own(folder) = source else {
        return Embedder::load(source, settings, fingerprint).map(Arc::new);
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
    let embedder = Arc::new(Embedder::load(source, settings, fingerprint)?);
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
    fn effective_is_exact_where_integers_are_not_quick() {
        let fast = ModelSettings { precision: Precision::Fast, ..settings("slow") };
        let found = fast.clone().effective(false);
        assert_eq!(found, settings("slow").effective(true));
        assert_eq!((found.precision, found.backend), (Precision::Exact, BackendKind::Onnx));
        let found = fast.effective(true);
        assert_eq!((found.precision, found.backend), (Precision::Fast, BackendKind::Native));
    }

    #[test]
    fn effective_keeps_the_precision_of_another_model() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(CONFIG), "{}").unwrap();
        let model = Some(folder.path().to_owned());
        let fast = ModelSettings { precision: Precision::Fast, model, ..settings("slow") };
        assert_eq!(fast.effective(false).precision, Precision::Fast);
    }

    #[test]
    fn with_gives_the_same_model_after_a_failure() {
        let [first, again] = [0, 1].map(|_| {
            let model = SharedModel::with(settings("failing"));
            assert!(model.get().is_err());
            model
        });
        assert!(Arc::ptr_eq(&first, &again), "loaded twice once it can be");
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
