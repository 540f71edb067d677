//! The folder of a model: the built-in one, or a custom one.

use std::{path::PathBuf, sync::Arc};

use knowledgepulse_workers::{fault, run_both};

use crate::{
    backend::{Backend, CheckedLibrary, NativeModel, OnnxModel},
    custom::{CustomFolder, CustomGraph},
    embed_error::{EmbedError, Result},
    load_times::LoadTimes,
    model::{
        BackendKind, ModelSettings, Precision,
        files::{BuiltInFiles, HashThreads, MANIFEST, VOCABULARY, WEIGHTS},
    },
    text::Tokenizer,
};

/// A loaded model.
pub(crate) struct Loaded {
    pub tokenizer: Tokenizer,
    pub backend: Box<dyn Backend>,
    /// Why ONNX Runtime could not be loaded, if the native backend runs the model instead.
    pub onnx_error: Option<EmbedError>,
}

/// The folder of a model, with its description read.
pub(crate) enum ModelFolder {
    BuiltIn(BuiltInFiles),
    Custom(Arc<CustomFolder>),
}

impl ModelFolder {
    /// Reads the manifest of the built-in model, or the configuration of a custom one.
    pub fn open(settings: &ModelSettings) -> Result<Self> {
        let path = settings.folder()?;
        if !settings.is_built_in() {
            return Ok(Self::Custom(CustomFolder::read(&path, settings)?.into()));
        }
        let files = BuiltInFiles::open(&path).map_err(|error| settings.advise(error))?;
        match settings.options.first_given() {
            Some(option) => Err(EmbedError::BuiltIn { path, option }),
            None => Ok(Self::BuiltIn(files)),
        }
    }

    pub fn custom(&self) -> Option<&CustomFolder> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Custom(folder) => Some(folder),
        }
    }

    /// Returns all files that the model depends on, including missing ones.
    pub fn files(&self, settings: &ModelSettings) -> Vec<PathBuf> {
        let mut files = match self {
            Self::BuiltIn(files) => files.paths().collect(),
            Self::Custom(folder) => folder.paths().cloned().collect::<Vec<_>>(),
        };
        // Whether it exists decides which kind of model this is.
        files.extend(settings.folder().map(|folder| folder.join(MANIFEST)));
        files
    }

    pub fn fingerprint(&self) -> Result<String> {
        match self {
            Self::BuiltIn(files) => files.fingerprint(),
            Self::Custom(folder) => folder.fingerprint(),
        }
    }

    fn read_tokenizer(&self, settings: &ModelSettings) -> Result<Tokenizer> {
        match self {
            Self::BuiltIn(files) => {
                fault::point("tokenizer");
                let (path, file) = files.read_verified(VOCABULARY)?;
                Tokenizer::built_in(&file).map_err(|what| EmbedError::file(&path, what))
            }
            Self::Custom(folder) => folder.read_tokenizer(&settings.folder()?),
        }
    }

    /// Loads the tokenizer, and the model into the backend of the settings. If the ONNX Runtime library cannot be
    /// loaded, the native backend runs the built-in model, with the same bits.
    pub fn load(&self, settings: &ModelSettings, times: &LoadTimes) -> Result<Loaded> {
        let ModelSettings { backend, precision, threads, .. } = *settings;
        let tokenizer = || times.of("tokenizer", || self.read_tokenizer(settings));
        let panicked = |_| EmbedError::Model("reading its files panicked".into());
        let library = || times.of("library", || CheckedLibrary::new(&settings.library()?));
        let environment = |library: CheckedLibrary| times.of("library", || library.environment());
        let files = match self {
            Self::BuiltIn(files) => files,
            Self::Custom(_) if backend == BackendKind::Native => return Err(EmbedError::NeedsOnnx),
            Self::Custom(folder) => {
                let load = || {
                    let environment = environment(library()?)?;
                    times.of("model", || CustomGraph::load(folder.clone(), environment, threads))
                };
                let (tokenizer, graph) = run_both(tokenizer, load);
                let backend = Box::new(graph?);
                let tokenizer = tokenizer.map_err(panicked)??;
                return Ok(Loaded { tokenizer, backend, onnx_error: None });
            }
        };
        let uses_onnx = backend == BackendKind::Onnx && precision == Precision::Exact;
        // Before the rest, on all cores, as loading the library takes longest and waits for this.
        let library = uses_onnx.then(library).transpose();
        let load = || {
            let environment = library.and_then(|library| library.map(environment).transpose());
            let onnx_error = environment.as_ref().err().cloned();
            let load = || match environment {
                Ok(Some(environment)) => OnnxModel::load(files, environment, threads),
                _ => NativeModel::load(files, precision, threads),
            };
            times.of("model", load).map(|model| (model, onnx_error))
        };
        // The exact native model is only mapped, which leaves all cores to the hash.
        let is_mapped = !uses_onnx && precision == Precision::Exact;
        let hashing = if is_mapped { HashThreads::Many } else { HashThreads::One };
        let verify = || times.of("digest", || files.verify(WEIGHTS, hashing));
        let (read, loaded) = run_both(|| (tokenizer(), verify()), load);
        let (tokenizer, weights) = read.map_err(panicked)?;
        let weights = weights?;
        let (model, onnx_error) = loaded?;
        Ok(Loaded { tokenizer: tokenizer?, backend: model.verified(weights), onnx_error })
    }
}

/// Returns the fingerprint of a model as 64 hexadecimal digits without loading it: embeddings by models with the same
/// fingerprint can be compared with each other. Reads all files of a custom model.
///
/// # Errors
///
/// A file is missing or cannot be read.
pub fn fingerprint(settings: &ModelSettings) -> Result<String> {
    ModelFolder::open(settings)?.fingerprint()
}
