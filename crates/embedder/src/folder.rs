//! The folder of a model: the built-in one, or a custom one.

use std::sync::Arc;

use knowledgepulse_workers::{fault, run_both};

use crate::{
    backend::{Backend, NativeModel, OnnxModel, environment},
    custom::CustomFolder,
    embed_error::{EmbedError, Result},
    kernels::TextThreads,
    model::{
        BackendKind, ModelSettings,
        files::{BuiltInFiles, GRAPH, VOCABULARY, WEIGHTS},
    },
    text::Tokenizer,
};

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

    pub fn fingerprint(&self) -> Result<String> {
        match self {
            Self::BuiltIn(files) => Ok(files.fingerprint().into()),
            Self::Custom(folder) => folder.fingerprint(),
        }
    }

    /// Loads the tokenizer, and the model into the backend of the settings.
    pub fn load(&self, settings: &ModelSettings) -> Result<(Tokenizer, Box<dyn Backend>)> {
        let is_native = settings.backend == Some(BackendKind::Native);
        let onnx = |folder: Arc<CustomFolder>| {
            OnnxModel::load(folder, environment(&settings.library.clone()?)?, settings.threads)
        };
        match self {
            Self::BuiltIn(files) => {
                let threads = TextThreads::new(settings.threads);
                fault::point("tokenizer");
                let tokenizer = Tokenizer::built_in(&files.map(VOCABULARY, &threads, 0)?)
                    .map_err(|what| EmbedError::file(&files.path(VOCABULARY), what))?;
                if is_native {
                    let model = NativeModel::load(files, settings.precision, threads)?;
                    return Ok((tokenizer, Box::new(model)));
                }
                for name in [GRAPH, WEIGHTS] {
                    files.map(name, &threads, 0)?;
                }
                let graph = CustomFolder::of_graph(files.path(GRAPH));
                Ok((tokenizer, Box::new(onnx(graph.into())?)))
            }
            Self::Custom(_) if is_native => Err(EmbedError::NeedsOnnx),
            Self::Custom(folder) => {
                let tokenizer = || folder.read_tokenizer(&settings.folder()?);
                let (tokenizer, graph) = run_both(tokenizer, || onnx(folder.clone()));
                let panicked = |_| EmbedError::Model("reading its files panicked".into());
                let graph = graph?;
                Ok((tokenizer.map_err(panicked)??, Box::new(graph)))
            }
        }
    }
}
