//! Where a model is read from: the layout of the built-in one, or a folder of the user's own.

use std::{path::PathBuf, sync::Arc};

pub(crate) mod files;
pub(crate) mod memo;
pub(crate) mod memory_probe;
pub(crate) mod shared_model;
pub(crate) mod tensors;

use crate::{
    EmbedError, ModelFiles, ModelSettings, Tokenizer,
    custom::{CONFIG, ModelFolder},
};
use files::MANIFEST;

/// Where a model is read from.
pub(crate) enum Source {
    /// The layout of the built-in model.
    BuiltIn(Arc<ModelFiles>),
    /// A model of the user's own.
    Own(Arc<ModelFolder>),
}

impl Source {
    /// Reads what the folder of the model says.
    pub(crate) fn open(settings: &ModelSettings) -> Result<Self, EmbedError> {
        let path = settings.folder();
        if !settings.is_built_in() {
            return ModelFolder::read(&path, settings).map(|folder| Self::Own(Arc::new(folder)));
        }
        let files = ModelFiles::open(&path).map_err(|error| match error {
            EmbedError::File { path, what } if settings.model.is_some() && !path.exists() => {
                let what =
                    format!("{what}; a model of your own has {CONFIG}, which is not there either");
                EmbedError::File { path, what }
            }
            error => error,
        })?;
        match settings.options.first_given() {
            Some(option) => Err(EmbedError::BuiltIn { path, option }),
            None => Ok(Self::BuiltIn(Arc::new(files))),
        }
    }

    /// Returns all files that the model may depend on, those that are missing as well.
    pub(crate) fn files(&self, settings: &ModelSettings) -> Vec<PathBuf> {
        let mut files = match self {
            Self::BuiltIn(files) => files.paths().collect(),
            Self::Own(folder) => folder.paths().cloned().collect::<Vec<_>>(),
        };
        // It tells one kind from the other.
        files.push(settings.folder().join(MANIFEST));
        files
    }

    /// Returns what embeddings depend on.
    pub(crate) fn fingerprint(&self) -> Result<String, EmbedError> {
        match self {
            Self::BuiltIn(files) => files.fingerprint(),
            Self::Own(folder) => folder.fingerprint(),
        }
    }

    pub(crate) fn read_tokenizer(&self, settings: &ModelSettings) -> Result<Tokenizer, EmbedError> {
        match self {
            Self::BuiltIn(files) => files.read_tokenizer(),
            Self::Own(folder) => folder.read_tokenizer(&settings.folder()),
        }
    }

    /// Returns what loading takes of memory, in bytes.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::BuiltIn(_) => memory_probe::FOR_A_MODEL,
            Self::Own(folder) => {
                let bytes = usize::try_from(folder.bytes()).unwrap_or(usize::MAX);
                bytes.saturating_add(memory_probe::FOR_A_MODEL)
            }
        }
    }
}
