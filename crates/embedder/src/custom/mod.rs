//! A model of the user's own: a folder as Hugging Face, sentence-transformers and transformers.js lay it
//! out.

mod external_data;
mod graph;

use std::{
    collections::HashMap,
    fs::File,
    io::{ErrorKind, Read},
    path::{Component, Path, PathBuf},
};

use blake3::Hasher;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    EmbedError, ModelOptions, ModelSettings, Pooling, Precision, Tokenizer,
    model::files::file_error,
};

pub(crate) use graph::OwnModel;

pub(crate) const CONFIG: &str = "config.json";
pub(crate) const TOKENIZER: &str = "tokenizer.json";
const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
const SPECIAL_TOKENS: &str = "special_tokens_map.json";
const MODULES: &str = "modules.json";
const PROMPTS: &str = "config_sentence_transformers.json";
/// Where nothing says how long a text may be.
const DEFAULT_MAX_TOKENS: u64 = 512;
/// The largest tokenizers have some 40 MB.
const MOST_JSON_BYTES: u64 = 256 << 20;
/// Tokenizers without a limit say 10^30.
const NO_LIMIT: f64 = 1e9;
/// Their positions begin behind that of the padding token.
const POSITIONS_BEHIND_PADDING: [&str; 8] = [
    "camembert",
    "data2vec-text",
    "ibert",
    "longformer",
    "luke",
    "mpnet",
    "roberta",
    "xlm-roberta",
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

/// What a vocabulary must have.
#[derive(Deserialize, Default)]
struct SpecialTokens {
    cls_token: Option<SpecialToken>,
    sep_token: Option<SpecialToken>,
    unk_token: Option<SpecialToken>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SpecialToken {
    Plain(String),
    Described { content: String },
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
    /// As newer versions of sentence-transformers write it.
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

/// What a folder and the options say of a model, checked as far as that goes without running it.
#[derive(Debug)]
pub(crate) struct ModelFolder {
    /// The graph.
    pub graph: PathBuf,
    /// The graph, the tokenizer, and what else they need; each once.
    files: Vec<PathBuf>,
    /// Files that say how to use those, which may be missing.
    checks: Vec<PathBuf>,
    /// How the vectors of tokens become one; `None` where nothing says so.
    pub pooling: Option<Pooling>,
    /// Whether that comes from the options, and so stands over a pooled output.
    pub is_pooling_given: bool,
    /// The output of the graph, if it was given.
    pub output: Option<String>,
    /// Whether vectors are scaled to length 1.
    pub normalize: bool,
    /// The most tokens of a window, special ones included.
    pub max_tokens: usize,
    /// What stands before each text.
    pub prefix: String,
    /// Whether texts are lowercased before all else.
    pub lowercase: bool,
    /// The first of the `position_ids`, for graphs that want them.
    pub first_position: i64,
    /// What the module of pooling says of the width.
    pub width: Option<usize>,
    /// What comes behind pooling and is in no graph of token vectors.
    pub further_module: Option<String>,
}

impl ModelFolder {
    /// Reads what the folder says.
    ///
    /// # Errors
    ///
    /// A file is missing, or says what cannot be done; an option does not fit to it.
    pub fn read(folder: &Path, settings: &ModelSettings) -> Result<Self, EmbedError> {
        let options = &settings.options;
        let config: Config = required(&folder.join(CONFIG))?;
        let tokenizer_config: TokenizerConfig =
            optional(&folder.join(TOKENIZER_CONFIG))?.unwrap_or_default();
        let modules = Modules::read(folder)?;
        let prefix = prefix(folder, options)?;
        if !prefix.is_empty() && modules.excludes_prompt {
            let path = modules.pooling_path;
            return Err(file_error(
                &path,
                "include_prompt: expected true with a prefix, got false",
            ));
        }
        let first_position = config.first_position();
        let max_tokens = max_tokens(folder, options, &config, &tokenizer_config, &modules)?;
        let (graph, missing_graph) = graph(folder, settings.precision)?;
        let mut files = vec![folder.join(TOKENIZER), graph.clone()];
        files.extend(external_data::files(&graph)?);
        files.iter().try_for_each(|path| plain_file(path))?;
        let mut checks = [CONFIG, TOKENIZER_CONFIG, SPECIAL_TOKENS, MODULES, PROMPTS]
            .map(|name| folder.join(name))
            .to_vec();
        checks.extend([modules.transformer_path, modules.pooling_path]);
        checks.extend(missing_graph);
        Ok(Self {
            graph,
            files,
            checks,
            pooling: options.pooling.or(modules.pooling),
            is_pooling_given: options.pooling.is_some(),
            output: options.output.clone(),
            normalize: options.normalize.unwrap_or(modules.normalizes),
            max_tokens,
            prefix,
            lowercase: modules.transformer.do_lower_case.unwrap_or(false),
            first_position,
            width: modules.width,
            further_module: modules.further,
        })
    }

    /// Reads the tokenizer, and checks that it has the special tokens that its configuration names.
    ///
    /// # Errors
    ///
    /// It cannot be read, or lacks one.
    pub fn read_tokenizer(&self, folder: &Path) -> Result<Tokenizer, EmbedError> {
        let path = folder.join(TOKENIZER);
        let json = read(&path)?;
        let tokenizer =
            Tokenizer::from_json(&json, self.max_tokens).map_err(|what| file_error(&path, what))?;
        for name in [TOKENIZER_CONFIG, SPECIAL_TOKENS] {
            let named: SpecialTokens = optional(&folder.join(name))?.unwrap_or_default();
            let named =
                [("cls", named.cls_token), ("sep", named.sep_token), ("unk", named.unk_token)];
            for (role, token) in named {
                let Some(token) = token else { continue };
                let (SpecialToken::Plain(token) | SpecialToken::Described { content: token }) =
                    token;
                if !tokenizer.knows(&token) {
                    let what =
                        format!("expected {token:?} in the vocabulary, the {role}_token of {name}");
                    return Err(file_error(&path, what));
                }
            }
        }
        Ok(tokenizer)
    }

    /// Returns what embeddings depend on, as 64 hexadecimal digits. Reads all files.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn fingerprint(&self) -> Result<String, EmbedError> {
        let mut all = Hasher::new();
        for path in &self.files {
            let mut hasher = Hasher::new();
            File::open(path)
                .and_then(|file| hasher.update_reader(file).map(drop))
                .map_err(|error| file_error(path, error))?;
            all.update(hasher.finalize().as_bytes());
        }
        let Self { pooling, output, normalize, max_tokens, prefix, lowercase, .. } = self;
        let said = (pooling, output, normalize, max_tokens, prefix, lowercase, self.first_position);
        all.update(format!("{said:?}").as_bytes());
        Ok(all.finalize().to_string())
    }

    /// Returns what a load depends on beside [`ModelFolder::fingerprint`]: a folder with the same of both loads as
    /// this one does.
    pub fn checks(&self) -> String {
        let mut hasher = Hasher::new();
        for path in &self.checks {
            // What cannot be read has been refused, or is not there.
            hasher.update(blake3::hash(&read(path).unwrap_or_default()).as_bytes());
        }
        hasher.finalize().to_string()
    }

    /// Returns all files that it may depend on, those that are missing as well.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().chain(&self.checks)
    }

    /// Returns the size of all files, in bytes.
    pub fn bytes(&self) -> u64 {
        let size = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
        self.files.iter().map(size).sum()
    }
}

impl Config {
    /// Where positions begin, and so how many of them there are less.
    fn first_position(&self) -> i64 {
        let kind = self.model_type.as_deref().unwrap_or_default();
        if POSITIONS_BEHIND_PADDING.contains(&kind) {
            self.pad_token_id.as_ref().and_then(Value::as_i64).unwrap_or(1) + 1
        } else {
            0
        }
    }
}

/// What `modules.json` and the files that it names say.
#[derive(Default)]
struct Modules {
    transformer: TransformerConfig,
    transformer_path: PathBuf,
    pooling: Option<Pooling>,
    pooling_path: PathBuf,
    excludes_prompt: bool,
    width: Option<usize>,
    normalizes: bool,
    further: Option<String>,
}

impl Modules {
    fn read(folder: &Path) -> Result<Self, EmbedError> {
        let list = folder.join(MODULES);
        let listed: Option<Vec<Module>> = optional(&list)?;
        // Without the list nothing says that vectors keep their length, and all comparisons are of directions.
        let mut read = Self { normalizes: listed.is_none(), ..Self::default() };
        let mut transformer = folder.to_owned();
        let mut pooling = folder.join("1_Pooling");
        for Module { path, kind } in listed.into_iter().flatten() {
            if !is_inside(&path) {
                let what = format!("path: expected a folder inside of its folder, got {path:?}");
                return Err(file_error(&list, what));
            }
            match kind.rsplit('.').next().unwrap_or_default() {
                "Transformer" => transformer = folder.join(path),
                "Pooling" => pooling = folder.join(path),
                "Normalize" => read.normalizes = true,
                _ => read.further = Some(kind),
            }
        }
        read.transformer_path = transformer.join("sentence_bert_config.json");
        read.transformer = optional(&read.transformer_path)?.unwrap_or_default();
        read.pooling_path = pooling.join(CONFIG);
        let Some(config) = optional::<PoolingConfig>(&read.pooling_path)? else { return Ok(read) };
        read.pooling = Some(config.mode().map_err(|what| file_error(&read.pooling_path, what))?);
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

fn prefix(folder: &Path, options: &ModelOptions) -> Result<String, EmbedError> {
    if let Some(prefix) = &options.prefix {
        return Ok(prefix.clone());
    }
    let path = folder.join(PROMPTS);
    let Prompts { mut prompts, default_prompt_name } = optional(&path)?.unwrap_or_default();
    let Some(name) = default_prompt_name else { return Ok(String::new()) };
    let missing =
        || file_error(&path, format!("default_prompt_name: no prompt is called {name:?}"));
    prompts.remove(&name).ok_or_else(missing)
}

/// The option, or what the folder states; never more than there are positions.
fn max_tokens(
    folder: &Path,
    options: &ModelOptions,
    config: &Config,
    tokenizer_config: &TokenizerConfig,
    modules: &Modules,
) -> Result<usize, EmbedError> {
    let positions = config
        .max_position_embeddings
        .map_or(u64::MAX, |count| count.saturating_sub(config.first_position().unsigned_abs()));
    if let Some(most) = options.max_tokens {
        if most as u64 > positions {
            let path = folder.join(CONFIG);
            let what = format!("maxTokens: expected at most {positions}, got {most}");
            return Err(file_error(&path, what));
        }
        return Ok(most);
    }
    let of_tokenizer = tokenizer_config.model_max_length.filter(|most| *most < NO_LIMIT);
    let stated = modules.transformer.max_seq_length.or(of_tokenizer.map(|most| most as u64));
    let most = match (stated, config.max_position_embeddings) {
        (Some(stated), _) => stated.min(positions),
        (None, Some(_)) => positions,
        (None, None) => DEFAULT_MAX_TOKENS,
    };
    Ok(usize::try_from(most).unwrap_or(usize::MAX))
}

/// The graph of a precision, where transformers.js has it or where it was exported to; then also the first place,
/// which has none. Models such as T5 call the graph that embeds their encoder.
fn graph(folder: &Path, precision: Precision) -> Result<(PathBuf, Option<PathBuf>), EmbedError> {
    let suffix = match precision {
        Precision::Exact => ".onnx",
        Precision::Fast => "_quantized.onnx",
    };
    let place = |folder: &Path, name: &str| folder.join(format!("{name}{suffix}"));
    let onnx = folder.join("onnx");
    let usual = place(&onnx, "model");
    let others = [place(folder, "model"), place(&onnx, "encoder_model")];
    match (plain_file(&usual), others.into_iter().find(|other| other.exists())) {
        (Err(_), Some(other)) => Ok((other, Some(usual))),
        (found, _) => found.map(|()| (usual, None)),
    }
}

/// Returns whether a path that a file names leads to no place outside of a folder.
pub(crate) fn is_inside(path: impl AsRef<Path>) -> bool {
    let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    path.as_ref().components().all(is_below)
}

/// Refuses what is no file: reading a pipe or a device may not end.
fn plain_file(path: &Path) -> Result<(), EmbedError> {
    let metadata = path.metadata().map_err(|error| file_error(path, error))?;
    if metadata.is_file() { Ok(()) } else { Err(file_error(path, "expected a file")) }
}

fn read(path: &Path) -> Result<Vec<u8>, EmbedError> {
    plain_file(path)?;
    let mut json = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST_JSON_BYTES + 1).read_to_end(&mut json))
        .map_err(|error| file_error(path, error))?;
    if json.len() as u64 > MOST_JSON_BYTES {
        return Err(file_error(path, format!("expected at most {MOST_JSON_BYTES} bytes")));
    }
    Ok(json)
}

fn required<T: DeserializeOwned>(path: &Path) -> Result<T, EmbedError> {
    let json = read(path)?;
    serde_json::from_slice(&json).map_err(|error| file_error(path, error))
}

/// As [`required`]; `None` where there is no such file.
fn optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EmbedError> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        _ => required(path).map(Some),
    }
}
