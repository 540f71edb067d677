//! A loaded model with its tokenizer, and the folder that it is loaded from.

use std::{
    borrow::Cow,
    cell::Cell,
    sync::Arc,
    time::{Duration, Instant},
};

use knowledgepulse_workers::{CancelToken, fault, run_both};

use crate::{
    backend::{Backend, NativeModel, OnnxModel, environment},
    custom::CustomFolder,
    embed_error::{EmbedError, Result},
    kernels::TextThreads,
    memo::Memo,
    model::{
        BackendKind, ModelSettings,
        files::{BuiltInFiles, GRAPH, TOKENIZER, VOCABULARY, WEIGHTS},
        memory_probe,
    },
    shape::{EMBEDDING_LEN, Embedding},
    text::Tokenizer,
};

/// An embedding, with facts about its text and the times of its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// The embedding.
    pub embedding: Embedding,
    /// The number of tokens that the model saw, special ones included.
    pub tokens: usize,
    /// Whether the text has more tokens.
    pub is_cut: bool,
    /// Whether the embedding is from the memo.
    pub from_memo: bool,
    /// The share of unknown tokens, in \[0, 1\]. Special tokens do not count.
    pub unknown_tokens: f64,
    /// The time of tokenization.
    pub tokenize: Duration,
    /// The time of inference, or of the lookup in the memo.
    pub infer: Duration,
}

/// A loaded model with its tokenizer. Any number of threads may embed at once.
pub struct Embedder {
    tokenizer: Tokenizer,
    backend: Box<dyn Backend>,
    memo: Memo,
    folder: ModelFolder,
    /// The fingerprint of the model, as of [`crate::SharedModel::fingerprint`].
    pub fingerprint: String,
    /// The length of an embedding.
    pub dimensions: usize,
    /// How long the load took.
    pub load_time: Duration,
}

impl Embedder {
    /// Loads the model, and ONNX Runtime if it runs the model. Checks the files of the built-in model against its
    /// manifest.
    pub(crate) fn load(settings: &ModelSettings) -> Result<Self> {
        let begun = Instant::now();
        let folder = ModelFolder::open(settings)?;
        let load = || {
            let fingerprint = folder.fingerprint()?;
            let weights = folder.custom().map_or(0, CustomFolder::bytes);
            memory_probe::require(memory_probe::FOR_A_MODEL.saturating_add(weights))?;
            Ok((fingerprint, folder.load(settings)?))
        };
        let (fingerprint, (tokenizer, backend)) = load().map_err(|error| settings.advise(error))?;
        memory_probe::release_free();
        let (memo, dimensions, load_time) = (Memo::default(), EMBEDDING_LEN, Duration::ZERO);
        let mut embedder =
            Self { tokenizer, backend, memo, folder, fingerprint, dimensions, load_time };
        if embedder.folder.custom().is_some() {
            embedder.dimensions = embedder.probe(settings)?;
        }
        embedder.load_time = begun.elapsed();
        Ok(embedder)
    }

    /// Runs a custom model, which may fail although it loads. Returns the length of its vectors.
    fn probe(&self, settings: &ModelSettings) -> Result<usize> {
        let never = CancelToken::default();
        let dimensions = self.embed_window(&self.tokenizer.window_of(&[0]), &never)?.len();
        // ONNX Runtime fails for ids that are not in the embedding table.
        let largest = self.tokenizer.largest_id;
        self.embed_window(&self.tokenizer.window_of(&[largest]), &never).map_err(|error| {
            let path = settings.folder().unwrap_or_default().join(TOKENIZER);
            EmbedError::file(&path, format!("its largest id is {largest}, for which {error}"))
        })?;
        Ok(dimensions)
    }

    /// Returns the name of the built-in model. A custom model is named after its folder.
    pub fn name(&self) -> Option<&str> {
        match &self.folder {
            ModelFolder::BuiltIn(files) => Some(&files.manifest.name),
            ModelFolder::Custom(_) => None,
        }
    }

    /// Returns the maximum number of tokens of a window, special ones included.
    pub fn max_tokens(&self) -> usize {
        self.tokenizer.max_tokens
    }

    /// Returns the embedding of the first window of a text, from the memo if the same tokens were embedded recently.
    ///
    /// # Errors
    ///
    /// [`EmbedError::Cancelled`] after [`CancelToken::cancel`], or an error of the backend.
    pub fn embed(&self, text: &str, cancel: &CancelToken) -> Result<Embedded> {
        // For the report only; no result depends on the clock.
        let begun = Instant::now();
        let custom = self.folder.custom();
        let text = custom.map_or(Cow::Borrowed(text), |custom| custom.prepared(text).into());
        let (ids, is_cut) = self.tokenizer.encode(&text, cancel)?;
        let tokenized = Instant::now();
        let is_computed = Cell::new(false);
        let embedding = self.memo.get_or_embed(&ids, || {
            is_computed.set(true);
            self.embed_window(&ids, cancel)
        })?;
        Ok(Embedded {
            embedding,
            tokens: ids.len(),
            is_cut,
            from_memo: !is_computed.get(),
            unknown_tokens: self.tokenizer.unknown_share(&ids),
            tokenize: tokenized - begun,
            infer: tokenized.elapsed(),
        })
    }

    /// Runs the model on a window.
    fn embed_window(&self, ids: &[i64], cancel: &CancelToken) -> Result<Embedding> {
        let embedding = self.backend.embed_ids(ids, cancel)?;
        if embedding.iter().any(|x| !x.is_finite()) {
            return Err(EmbedError::Model("it gave a number that is not finite".into()));
        }
        Ok(embedding)
    }
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

    pub fn fingerprint(&self) -> Result<String> {
        match self {
            Self::BuiltIn(files) => Ok(files.manifest.fingerprint.clone()),
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
                let tokenizer = Tokenizer::built_in(&files.map(VOCABULARY, 0)?)
                    .map_err(|what| EmbedError::file(&files.path(VOCABULARY), what))?;
                if is_native {
                    let model = NativeModel::load(files, settings.precision, threads)?;
                    return Ok((tokenizer, Box::new(model)));
                }
                for name in [GRAPH, WEIGHTS] {
                    files.map(name, 0)?;
                }
                let graph = CustomFolder::of_graph(files.path(GRAPH));
                Ok((tokenizer, Box::new(onnx(graph.into())?)))
            }
            Self::Custom(_) if is_native => Err(EmbedError::NeedsOnnx),
            Self::Custom(folder) => {
                let tokenizer = || folder.read_tokenizer(&settings.folder()?);
                let (tokenizer, graph) = run_both(tokenizer, || onnx(folder.clone()));
                let graph = graph?;
                Ok((tokenizer?, Box::new(graph)))
            }
        }
    }
}
