//! The folder of a model: the built-in one, or a custom one.

use std::{path::PathBuf, sync::Arc};

use knowledgepulse_workers::fault;

use crate::{
    BackendKind, BuiltInFiles, EmbedError, ModelSettings, Precision, Result, Tokenizer,
    backend::{Backend, NativeModel, OnnxModel, library},
    custom::{CustomFolder, CustomGraph},
    model::{MANIFEST, VOCABULARY},
};

/// A loaded backend, and the reason if the native one replaces ONNX Runtime.
type Loaded = (Box<dyn Backend>, Option<EmbedError>);

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

    pub fn read_tokenizer(&self, settings: &ModelSettings) -> Result<Tokenizer> {
        match self {
            Self::BuiltIn(files) => {
                fault::point("tokenizer");
                let (path, file) = files.read_verified(VOCABULARY)?;
                Tokenizer::built_in(&file).map_err(|what| EmbedError::file(&path, what))
            }
            Self::Custom(folder) => folder.read_tokenizer(&settings.folder()?),
        }
    }

    /// Loads the model into the backend of the settings. If the ONNX Runtime library cannot be loaded, the native
    /// backend runs the built-in model, with the same bits.
    pub fn load(&self, settings: &ModelSettings) -> Result<Loaded> {
        let ModelSettings { precision, threads, .. } = *settings;
        let native = |files| NativeModel::load(files, precision, threads);
        match (self, settings.backend) {
            (Self::BuiltIn(files), BackendKind::Onnx) if precision == Precision::Exact => {
                match settings.library().and_then(|path| library::environment(&path)) {
                    Ok(environment) => {
                        let model = OnnxModel::load(files, environment, threads)?;
                        Ok((Box::new(model), None))
                    }
                    Err(error) => Ok((Box::new(native(files)?), Some(error))),
                }
            }
            (Self::BuiltIn(files), _) => Ok((Box::new(native(files)?), None)),
            (Self::Custom(folder), BackendKind::Onnx) => {
                Ok((Box::new(CustomGraph::load(folder.clone(), settings)?), None))
            }
            (Self::Custom(_), BackendKind::Native) => Err(EmbedError::NeedsOnnx),
        }
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
