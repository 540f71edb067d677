//! Custom models: folders in the layout of Hugging Face, sentence-transformers and transformers.js.

mod external_data;

use std::{
    collections::HashMap,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use blake3::Hasher;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use external_data::is_inside;

use crate::{
    embed_error::{EmbedError, Result},
    model::{
        files::{self, CONFIG, MAX_JSON_BYTES, TOKENIZER, open, regular_file},
        settings::{ModelOptions, ModelSettings, Precision},
    },
    pooling::Pooling,
    text::Tokenizer,
};

const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
const SPECIAL_TOKENS: &str = "special_tokens_map.json";
const MODULES: &str = "modules.json";
const PROMPTS: &str = "config_sentence_transformers.json";
/// The window if no file states one.
const DEFAULT_MAX_TOKENS: u64 = 512;
/// Tokenizers without a limit have a `model_max_length` of 10^30.
const NO_LIMIT: f64 = 1e9;
/// The models whose first position follows that of the padding token.
const POSITIONS_AFTER_PADDING: [&str; 8] = [
    "camembert", "data2vec-text", "ibert", "longformer", "luke", "mpnet", "roberta", "xlm-roberta",
];

#[derive(Deserialize)]
struct Config {
    model_type: Option<String>,
    max_position_embeddings: Option<u64>,
    pad_token_id: Option<Value>,
}

#[derive(Deserialize, Default)]
struct TokenizerConfig {
    model_max_length: Option<f64>,
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct PoolingConfig {
    word_embedding_dimension: Option<usize>,
    /// Written by newer versions of sentence-transformers.
    pooling_mode: Option<String>,
    include_prompt: Option<bool>,
    /// `pooling_mode_mean_tokens` and others.
    #[serde(flatten)]
    others: HashMap<String, Value>,
}

#[derive(Deserialize, Default)]
struct TransformerConfig {
    max_seq_length: Option<u64>,
    do_lower_case: Option<bool>,
}

#[derive(Deserialize, Default)]
struct Prompts {
    #[serde(default)]
    prompts: HashMap<String, String>,
    default_prompt_name: Option<String>,
}

/// The folder of a custom model, combined with the options and checked without running the model.
#[derive(Debug, Default)]
pub(crate) struct CustomFolder {
    pub graph: PathBuf,
    /// The tokenizer, the graph and its files of weights.
    files: Vec<PathBuf>,
    /// The properties from the modules, or from the options.
    pub modules: Modules,
    /// The options. A pooling among them takes precedence over a pooled output.
    pub options: ModelOptions,
    /// The maximum number of tokens of a window, special ones included.
    pub max_tokens: usize,
    /// The text before each text.
    prefix: String,
    /// The first of the `position_ids`, for graphs with this input.
    pub first_position: i64,
}

impl CustomFolder {
    /// Returns what runs a graph with an output of whole texts.
    pub fn of_graph(graph: PathBuf) -> Self {
        Self { graph, ..Self::default() }
    }

    pub fn read(folder: &Path, settings: &ModelSettings) -> Result<Self> {
        let options = &settings.options;
        let config_path = folder.join(CONFIG);
        let config: Config = required(&config_path)?;
        let tokenizer: TokenizerConfig =
            optional(&folder.join(TOKENIZER_CONFIG))?.unwrap_or_default();
        let mut modules = Modules::read(folder)?;
        let prefix = prefix(folder, options)?;
        if !prefix.is_empty() && modules.excludes_prompt {
            let what = "include_prompt: expected true with a prefix, got false";
            return Err(EmbedError::file(&modules.pooling_path, what));
        }
        let of_tokenizer = tokenizer.model_max_length.filter(|length| *length < NO_LIMIT);
        let stated = modules.max_seq_length.or(of_tokenizer.map(|length| length as u64));
        let max_tokens = config.max_tokens(&config_path, options.max_tokens, stated)?;
        let places = graph_places(folder, settings.precision);
        let graph = places.iter().find(|place| place.is_file()).unwrap_or(&places[0]).clone();
        regular_file(&graph)?;
        let mut files = vec![folder.join(TOKENIZER), graph.clone()];
        files.extend(external_data::files(&graph)?);
        files.iter().try_for_each(|path| regular_file(path).map(drop))?;
        modules.pooling = options.pooling.or(modules.pooling);
        modules.normalizes = options.normalize.unwrap_or(modules.normalizes);
        let (options, first_position) = (options.clone(), config.first_position());
        Ok(Self { graph, files, modules, options, max_tokens, prefix, first_position })
    }

    /// Reads the tokenizer, and checks that it has the special tokens of its configuration.
    pub fn read_tokenizer(&self, folder: &Path) -> Result<Tokenizer> {
        let path = folder.join(TOKENIZER);
        let json = read(&path)?;
        let tokenizer = Tokenizer::from_json(&json, self.max_tokens)
            .map_err(|what| EmbedError::file(&path, what))?;
        for name in [TOKENIZER_CONFIG, SPECIAL_TOKENS] {
            let named: HashMap<String, Value> = optional(&folder.join(name))?.unwrap_or_default();
            for role in ["cls_token", "sep_token", "unk_token"] {
                let Some(token) = named.get(role).filter(|token| !token.is_null()) else {
                    continue;
                };
                // A string, or an object that describes it.
                let token = token.get("content").unwrap_or(token);
                if !token.as_str().is_some_and(|token| tokenizer.knows(token)) {
                    let what = format!("expected {token} in the vocabulary, the {role} of {name}");
                    return Err(EmbedError::file(&path, what));
                }
            }
        }
        Ok(tokenizer)
    }

    pub fn fingerprint(&self) -> Result<String> {
        let mut all = Hasher::new();
        for path in &self.files {
            let mut file = Hasher::new();
            file.update_reader(open(path)?).map_err(|error| EmbedError::file(path, error))?;
            all.update(file.finalize().as_bytes());
        }
        let Self { modules, options, max_tokens, prefix, first_position, .. } = self;
        let Modules { pooling, normalizes, lowercase, .. } = modules;
        let said = (pooling, normalizes, max_tokens, prefix, lowercase, first_position);
        // The output depends on whether a pooling is among the options.
        let said = (said, options.pooling.is_some(), &options.output);
        all.update(format!("{said:?}").as_bytes());
        Ok(all.finalize().to_string())
    }

    /// Returns a text with the prefix, and in lower case if the model wants that.
    pub fn prepared(&self, text: &str) -> String {
        let text = [&self.prefix, text].concat();
        if self.modules.lowercase { text.to_lowercase() } else { text }
    }

    pub fn bytes(&self) -> usize {
        let size = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len() as usize);
        self.files.iter().map(size).sum()
    }
}

impl Config {
    /// Returns the first position, which is also the number of positions that cannot be used.
    fn first_position(&self) -> i64 {
        let kind = self.model_type.as_deref().unwrap_or_default();
        if !POSITIONS_AFTER_PADDING.contains(&kind) {
            return 0;
        }
        self.pad_token_id.as_ref().and_then(Value::as_i64).unwrap_or(1) + 1
    }

    /// Returns the given window, or the one that the folder states, which is at most the number of positions.
    fn max_tokens(&self, path: &Path, given: Option<usize>, stated: Option<u64>) -> Result<usize> {
        let unusable = self.first_position().unsigned_abs();
        let positions = self.max_position_embeddings.map(|count| count.saturating_sub(unusable));
        let most = positions.unwrap_or(u64::MAX) as usize;
        if let Some(given) = given
            && given > most
        {
            let what = format!("maxTokens: expected at most {most}, got {given}");
            return Err(EmbedError::file(path, what));
        }
        let stated = stated.or(positions).unwrap_or(DEFAULT_MAX_TOKENS) as usize;
        Ok(given.unwrap_or(stated.min(most)))
    }
}

/// The contents of `modules.json` and of the files that it names.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    max_seq_length: Option<u64>,
    /// Whether texts are lowercased before tokenization.
    pub lowercase: bool,
    /// How the vectors of tokens are pooled; `None` if nothing states it.
    pub pooling: Option<Pooling>,
    pooling_path: PathBuf,
    excludes_prompt: bool,
    /// The width that the pooling module states.
    pub width: Option<usize>,
    /// Whether vectors are scaled to length 1.
    pub normalizes: bool,
    /// A module after pooling, which a graph of token vectors lacks.
    pub further: Option<String>,
}

impl Modules {
    fn read(folder: &Path) -> Result<Self> {
        let list = folder.join(MODULES);
        let listed: Option<Vec<Module>> = optional(&list)?;
        // Without the list vectors are normalised, because only their directions are compared.
        let mut read = Self { normalizes: listed.is_none(), ..Self::default() };
        let mut transformer = folder.to_owned();
        let mut pooling = folder.join("1_Pooling");
        for Module { path, kind } in listed.into_iter().flatten() {
            if !is_inside(&path) {
                let what = format!("path: expected a folder inside of its folder, got {path:?}");
                return Err(EmbedError::file(&list, what));
            }
            match kind.rsplit('.').next().unwrap_or_default() {
                "Transformer" => transformer = folder.join(path),
                "Pooling" => pooling = folder.join(path),
                "Normalize" => read.normalizes = true,
                _ => read.further = Some(kind),
            }
        }
        let stated = optional(&transformer.join("sentence_bert_config.json"))?;
        let stated: TransformerConfig = stated.unwrap_or_default();
        read.max_seq_length = stated.max_seq_length;
        read.lowercase = stated.do_lower_case.unwrap_or(false);
        read.pooling_path = pooling.join(CONFIG);
        let Some(config) = optional::<PoolingConfig>(&read.pooling_path)? else { return Ok(read) };
        let mode = config.mode().map_err(|what| EmbedError::file(&read.pooling_path, what))?;
        read.pooling = Some(mode);
        read.width = config.word_embedding_dimension;
        read.excludes_prompt = config.include_prompt == Some(false);
        Ok(read)
    }
}

impl PoolingConfig {
    fn mode(&self) -> Result<Pooling, String> {
        let set = self.others.iter().filter(|(_, value)| **value == true);
        let set = set.filter_map(|(name, _)| name.strip_prefix("pooling_mode_"));
        let mut modes: Vec<_> = set.chain(self.pooling_mode.as_deref()).collect();
        modes.sort_unstable();
        match &modes[..] {
            ["mean" | "mean_tokens"] => Ok(Pooling::Mean),
            ["cls" | "cls_token"] => Ok(Pooling::Cls),
            ["lasttoken"] => Ok(Pooling::Last),
            _ => Err(format!("expected pooling by mean, cls or last token, got {modes:?}")),
        }
    }
}

fn prefix(folder: &Path, options: &ModelOptions) -> Result<String> {
    if let Some(prefix) = &options.prefix {
        return Ok(prefix.clone());
    }
    let path = folder.join(PROMPTS);
    let Prompts { mut prompts, default_prompt_name } = optional(&path)?.unwrap_or_default();
    let Some(name) = default_prompt_name else { return Ok(String::new()) };
    let missing = || format!("default_prompt_name: no prompt is called {name:?}");
    prompts.remove(&name).ok_or_else(|| EmbedError::file(&path, missing()))
}

/// Returns where the graph of a precision may be: the place of transformers.js, that of other exports, and that of models
/// such as T5, whose graph that embeds is named after the encoder.
fn graph_places(folder: &Path, precision: Precision) -> [PathBuf; 3] {
    let suffix = match precision {
        Precision::Exact => ".onnx",
        Precision::Fast => "_quantized.onnx",
    };
    [("onnx", "model"), ("", "model"), ("onnx", "encoder_model")]
        .map(|(inner, name)| folder.join(inner).join(format!("{name}{suffix}")))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    files::read(path, MAX_JSON_BYTES)
}

fn required<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let json = read(path)?;
    serde_json::from_slice(&json).map_err(|error| EmbedError::file(path, error))
}

/// As [`required`]; `None` if there is no such file.
fn optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        _ => required(path).map(Some),
    }
}
