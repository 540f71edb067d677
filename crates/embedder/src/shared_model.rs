//! The models of the process: shared by all users of the same model, loaded on first use.

use std::{
    panic::catch_unwind,
    path::PathBuf,
    sync::{Arc, Mutex, Weak},
    time::{Duration, Instant},
};

use knowledgepulse_workers::{fault, lock};
use once_cell::sync::OnceCell;

use crate::{
    embed_error::{EmbedError, Result},
    embedder::{Embedder, ModelFolder},
    kernels::int8::Machine,
    model::{BackendKind, ModelSettings},
};

/// After a failure, calls within this time get the same error; the first later one loads again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The models in use.
static MODELS: Mutex<Vec<Weak<SharedModel>>> = Mutex::new(Vec::new());

/// The state of a model.
#[derive(Clone)]
pub enum LoadState {
    /// Not used yet.
    Idle,
    /// A thread is loading it.
    Loading,
    /// Loaded.
    Ready(Arc<Embedder>),
    /// Not available, for this reason and since this time.
    Failed(EmbedError, Instant),
}

/// A model of the process with given settings.
pub struct SharedModel {
    /// The effective settings.
    pub settings: ModelSettings,
    state: Mutex<LoadState>,
    /// The ONNX Runtime library, where the settings name none, or why there is none.
    library: Mutex<Option<Result<PathBuf>>>,
    loaded: OnceCell<Arc<Embedder>>,
}

impl SharedModel {
    /// Returns the model with these settings, without loading it. Forgets an earlier failure to load it. The folder of
    /// a loaded model is not read again, even if its files have changed.
    pub fn with(settings: ModelSettings) -> Arc<Self> {
        let settings = settings.effective(Machine::detect().is_int8_faster());
        let mut models = lock(&MODELS);
        let mut known = models.iter().filter_map(Weak::upgrade);
        if let Some(model) = known.find(|model| model.settings == settings) {
            let mut state = lock(&model.state);
            if matches!(*state, LoadState::Failed(..)) {
                *state = LoadState::Idle;
            }
            drop(state);
            return model;
        }
        models.retain(|model| model.strong_count() > 0);
        let model = Arc::new(Self {
            settings,
            state: Mutex::new(LoadState::Idle),
            library: Mutex::default(),
            loaded: OnceCell::new(),
        });
        models.push(Arc::downgrade(&model));
        model
    }

    /// Returns the state of the model. Never waits for a load.
    pub fn state(&self) -> LoadState {
        lock(&self.state).clone()
    }

    /// Returns whether [`SharedModel::get`] is quick: it neither loads a model into ONNX Runtime nor waits for that.
    pub fn is_quick(&self) -> bool {
        self.settings.backend == Some(BackendKind::Native)
            || match &*lock(&self.state) {
                LoadState::Idle | LoadState::Loading => false,
                LoadState::Ready(_) => true,
                LoadState::Failed(_, at) => at.elapsed() < RETRY_AFTER,
            }
    }

    /// Returns the ONNX Runtime library that a load takes.
    ///
    /// # Errors
    ///
    /// The settings name none, and none was found.
    pub fn library(&self) -> Result<PathBuf> {
        let found = || lock(&self.library).clone();
        self.settings.library.clone().or_else(|none| found().unwrap_or(Err(none)))
    }

    /// Sets the library for settings that name none, or why there is none.
    pub fn set_library(&self, found: Result<PathBuf>) {
        *lock(&self.library) = Some(found);
    }

    /// Returns the loaded model. Loads it, or waits while another thread loads it.
    ///
    /// # Errors
    ///
    /// The model cannot be loaded, or could not within the last second.
    pub fn get(&self) -> Result<Arc<Embedder>> {
        self.loaded.get_or_try_init(|| self.load()).cloned()
    }

    /// Returns the fingerprint of the model as 64 hexadecimal digits, without loading it: embeddings by models with the
    /// same fingerprint can be compared with each other. Unless it is loaded, reads all files of a custom model.
    ///
    /// # Errors
    ///
    /// A file is missing or cannot be read.
    pub fn fingerprint(&self) -> Result<String> {
        let read = || ModelFolder::open(&self.settings)?.fingerprint();
        self.loaded.get().map_or_else(read, |loaded| Ok(loaded.fingerprint.clone()))
    }

    /// Loads the model, or fails again soon after a failure. Only one thread at a time gets here.
    fn load(&self) -> Result<Arc<Embedder>> {
        match &mut *lock(&self.state) {
            LoadState::Failed(error, at) if at.elapsed() < RETRY_AFTER => return Err(error.clone()),
            state => *state = LoadState::Loading,
        }
        let settings = ModelSettings { library: self.library(), ..self.settings.clone() };
        // After a panic, the state must not remain that of loading.
        let loaded = catch_unwind(|| {
            fault::point("load");
            Embedder::load(&settings).map(Arc::new)
        })
        .unwrap_or_else(|_| Err(EmbedError::Model("loading it panicked".into())));
        *lock(&self.state) = match &loaded {
            Ok(embedder) => LoadState::Ready(embedder.clone()),
            Err(error) => LoadState::Failed(error.clone(), Instant::now()),
        };
        loaded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BackendKind, Precision, files::CONFIG};

    fn settings(folder: &str) -> ModelSettings {
        ModelSettings {
            library: Ok("library".into()),
            backend: Some(BackendKind::Onnx),
            threads: 2,
            ..ModelSettings::of(Err(EmbedError::file(folder.as_ref(), "for tests")))
        }
    }

    fn share(a: &ModelSettings, b: &ModelSettings) -> bool {
        Arc::ptr_eq(&SharedModel::with(a.clone()), &SharedModel::with(b.clone()))
    }

    #[test]
    fn with_shares_a_model_if_settings_have_the_same_effect() {
        let base = settings("shared");
        assert!(share(&base, &base));
        let native = ModelSettings { backend: Some(BackendKind::Native), ..base };
        let elsewhere = ModelSettings { library: Ok("elsewhere".into()), ..native.clone() };
        assert!(share(&native, &elsewhere), "the native backend needs no library");
        let fast = ModelSettings { precision: Precision::Fast, ..native };
        let onnx = ModelSettings { backend: Some(BackendKind::Onnx), ..fast.clone() };
        assert!(share(&fast, &onnx), "only the native backend is fast");
        assert!(share(&fast, &ModelSettings { backend: None, ..fast.clone() }), "the default");
    }

    #[test]
    fn with_keeps_other_models_apart() {
        let base = settings("apart");
        for other in [
            ModelSettings { backend: Some(BackendKind::Native), ..base.clone() },
            ModelSettings { model: Some("elsewhere".into()), ..base.clone() },
            ModelSettings { package: settings("elsewhere").package, ..base.clone() },
            ModelSettings { library: Ok("elsewhere".into()), ..base.clone() },
            ModelSettings { precision: Precision::Fast, ..base.clone() },
            ModelSettings { threads: 1, ..base.clone() },
        ] {
            assert!(!share(&base, &other), "{other:?}");
        }
    }

    #[test]
    fn effective_is_exact_if_int8_is_not_faster() {
        let fast = ModelSettings { precision: Precision::Fast, ..settings("slow") };
        let found = fast.clone().effective(false);
        assert_eq!(found, settings("slow").effective(true));
        assert_eq!((found.precision, found.backend), (Precision::Exact, Some(BackendKind::Onnx)));
        let found = fast.effective(true);
        assert_eq!((found.precision, found.backend), (Precision::Fast, Some(BackendKind::Native)));
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
    fn with_gives_the_same_model_after_a_failure_and_forgets_it() {
        let first = SharedModel::with(settings("failing"));
        assert!(first.get().is_err());
        assert!(matches!(first.state(), LoadState::Failed(..)));
        let again = SharedModel::with(settings("failing"));
        assert!(Arc::ptr_eq(&first, &again));
        assert!(matches!(again.state(), LoadState::Idle));
    }
}
