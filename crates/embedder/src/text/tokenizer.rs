//! Text to token ids, as in transformers.js. Stops when the window is full.

use knowledgepulse_workers::CancelToken;
use serde::Deserialize;
use serde_json::{Value, json};
use tokenizers::{
    canonicalize_value, from_json,
    pipeline::{EncodeOptions, Override, PipelineTokenizer},
};

use super::{
    bert::{AddedToken, Bert, Normalizer, beginning},
    vocabulary::Vocabulary,
};
use crate::{
    embed_error::{EmbedError, Result},
    shape::MAX_TOKENS,
};

/// The length of the first part that is tokenised, in bytes per requested token.
const BYTES_PER_TOKEN: usize = 8;

/// The number of tokens before a cut that may differ from those of the whole text.
const UNSETTLED_TOKENS: usize = 64;

/// What splits texts into tokens.
enum Model {
    /// WordPiece over the words of the built-in model.
    BuiltIn(Vocabulary),
    /// WordPiece, Unigram or BPE of a `tokenizer.json`.
    Pipeline(PipelineTokenizer),
}

/// The special tokens of the built-in model.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// The tokenizer of a model.
pub struct Tokenizer {
    model: Model,
    /// Runs before the model for BERT, because transformers.js normalises its text differently.
    bert: Option<Bert>,
    /// The ids before each text, such as that of `[CLS]`.
    before: Vec<i64>,
    /// The ids after each text, such as that of `[SEP]`.
    after: Vec<i64>,
    unknown: Option<i64>,
    /// The largest id of the vocabulary.
    pub(crate) largest_id: i64,
    /// The maximum number of tokens of a window, special ones included.
    pub(crate) max_tokens: usize,
}

impl Tokenizer {
    /// Reads the bytes of the vocabulary of the built-in model.
    ///
    /// # Errors
    ///
    /// The file has another layout, or lacks a special token; a message says so.
    pub fn built_in(file: &[u8]) -> Result<Self, String> {
        let vocabulary = Vocabulary::read(file).ok_or("not a vocabulary")?;
        let id = |token: &str| vocabulary.id(token).ok_or_else(|| format!("it has no {token}"));
        let added = |token: &str| Ok(AddedToken { id: id(token)?, content: token.into() });
        let added = SPECIAL.into_iter().map(added).collect::<Result<_, String>>()?;
        Ok(Self {
            bert: Some(Bert::new(Normalizer::UNCASED, added)),
            before: vec![id("[CLS]")?],
            after: vec![id("[SEP]")?],
            unknown: Some(id("[UNK]")?),
            largest_id: vocabulary.largest_id(),
            max_tokens: MAX_TOKENS,
            model: Model::BuiltIn(vocabulary),
        })
    }

    /// Reads the bytes of a `tokenizer.json`, for windows of at most `max_tokens`.
    ///
    /// # Errors
    ///
    /// The file is invalid, or leaves no room for text; a message says why.
    pub fn from_json(json: &[u8], max_tokens: usize) -> Result<Self, String> {
        let mut file: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let normalizer = bert_normalizer(&file);
        canonicalize_value(&mut file).map_err(|error| error.to_string())?;
        let [before, after] = special_ids(&file["post_processor"])?;
        let special = before.len() + after.len();
        if max_tokens <= special {
            return Err(format!(
                "{special} special tokens frame a text: expected windows of more, got {max_tokens}"
            ));
        }
        let added = Option::<Vec<AddedToken>>::deserialize(&file["added_tokens"])
            .map_err(|error| error.to_string())?
            .unwrap_or_default();
        let (vocabulary, unknown) = (&file["model"]["vocab"], file["model"]["unk_token"].as_str());
        let in_vocabulary = |token: &str| vocabulary.get(token).and_then(Value::as_i64);
        if let Some(token) = unknown
            && normalizer.is_some()
            && in_vocabulary(token).is_none()
        {
            return Err(format!("the vocabulary has no {token}"));
        }
        let id = |token: &str| {
            let added = added.iter().find(|added| added.content == *token).map(|added| added.id);
            added.or_else(|| in_vocabulary(token))
        };
        let unknown = file["model"]["unk_id"].as_i64().or_else(|| unknown.and_then(id));
        let largest = match vocabulary {
            Value::Array(pieces) => pieces.len() as i64 - 1,
            Value::Object(ids) => ids.values().filter_map(Value::as_i64).max().unwrap_or(0),
            _ => return Err("model.vocab: expected an object or an array".into()),
        };
        let largest_id = added.iter().map(|added| added.id).fold(largest, i64::max);
        if normalizer.is_some() {
            file["normalizer"] = Value::Null;
            file["pre_tokenizer"] = json!({ "type": "WhitespaceSplit" });
            file["added_tokens"] = json!([]);
        }
        let bert = normalizer.map(|normalizer| Bert::new(normalizer, added));
        let canonical = file.to_string();
        // The vocabulary takes megabytes.
        drop(file);
        let pipeline = from_json(&canonical).map_err(|error| error.to_string())?;
        Ok(Self {
            model: Model::Pipeline(pipeline),
            bert,
            before,
            after,
            unknown,
            largest_id,
            max_tokens,
        })
    }

    /// Returns the ids of the window of a text, special ones included, and whether the text has more. A text that fills
    /// the window ends without `[SEP]`, as in transformers.js. After a cancellation, a part of the text is missing.
    ///
    /// # Errors
    ///
    /// A part of the text is not in the vocabulary, which has no token for unknown parts.
    pub fn encode(&self, text: &str, cancel: &CancelToken) -> Result<(Vec<i64>, bool)> {
        let room = self.max_tokens - self.before.len();
        // One token more than there is room for shows that the text is cut.
        let tokens = self.tokens(text, room + 1, cancel)?;
        let mut ids = self.window_of(&tokens);
        ids.truncate(self.max_tokens);
        Ok((ids, tokens.len() > room))
    }

    /// Returns whether a special token is recognised as one token.
    pub fn knows(&self, token: &str) -> bool {
        self.tokens(token, 2, &CancelToken::default()).is_ok_and(|tokens| tokens.len() == 1)
    }

    /// Returns a window of these tokens, with the special ones around them.
    pub fn window_of(&self, tokens: &[i64]) -> Vec<i64> {
        [&self.before, tokens, &self.after].concat()
    }

    /// Returns the share of unknown tokens in a window, without special ones.
    pub(crate) fn unknown_share(&self, ids: &[i64]) -> f64 {
        let tokens = ids.len().saturating_sub(self.before.len() + self.after.len());
        let unknown = ids.iter().filter(|id| Some(**id) == self.unknown).count();
        if tokens == 0 { 0.0 } else { unknown.min(tokens) as f64 / tokens as f64 }
    }

    /// Returns the ids of a text without special ones: all, or at least the first `enough`.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn tokens(&self, text: &str, enough: usize, cancel: &CancelToken) -> Result<Vec<i64>> {
        let Some(bert) = &self.bert else { return self.tokens_of_start(text, enough, cancel) };
        let mut ids = Vec::new();
        for (section, added) in bert.sections(text) {
            for words in bert.words(section) {
                ids.extend(self.ids(&words)?);
                if ids.len() >= enough || cancel.is_cancelled() {
                    return Ok(ids);
                }
            }
            ids.extend(added);
        }
        Ok(ids)
    }

    /// As [`Tokenizer::tokens`]. Tokenises the text from its beginning, twice as much each time, until there are enough.
    fn tokens_of_start(&self, text: &str, enough: usize, cancel: &CancelToken) -> Result<Vec<i64>> {
        let wanted = enough.saturating_add(UNSETTLED_TOKENS);
        let mut bytes = wanted.saturating_mul(BYTES_PER_TOKEN);
        loop {
            let kept = beginning(text, bytes);
            let mut ids = self.ids(kept)?;
            if kept.len() == text.len() {
                return Ok(ids);
            }
            if ids.len() >= wanted || cancel.is_cancelled() {
                ids.truncate(enough);
                return Ok(ids);
            }
            bytes = bytes.saturating_mul(2);
        }
    }

    /// Returns the ids of a whole text by the model.
    fn ids(&self, text: &str) -> Result<Vec<i64>> {
        let pipeline = match &self.model {
            Model::Pipeline(pipeline) => pipeline,
            Model::BuiltIn(vocabulary) => {
                let (mut ids, unknown) = (Vec::new(), self.unknown.unwrap_or_default());
                for word in text.split_whitespace() {
                    vocabulary.split(word, unknown, &mut ids);
                }
                return Ok(ids);
            }
        };
        let (padding, truncation) = (Override::Off, Override::Off);
        let options = EncodeOptions { padding, truncation, ..EncodeOptions::no_specials() };
        let mut tokens = Vec::new();
        pipeline
            .encode_into(text, &options, &mut tokens)
            .map_err(|error| EmbedError::Model(format!("its tokenizer: {error}")))?;
        Ok(tokens.iter().map(|token| i64::from(token.id())).collect())
    }
}

/// Returns the normaliser of a BERT tokenizer, which cleans texts.
fn bert_normalizer(file: &Value) -> Option<Normalizer> {
    let is_bert = file["normalizer"]["type"] == "BertNormalizer"
        && file["pre_tokenizer"]["type"] == "BertPreTokenizer"
        && (file["model"]["type"].is_null() || file["model"]["type"] == "WordPiece");
    let normalizer = is_bert.then(|| Normalizer::deserialize(&file["normalizer"]).ok())?;
    normalizer.filter(|read| read.clean_text)
}

/// Returns the special ids before and after a text.
fn special_ids(post_processor: &Value) -> Result<[Vec<i64>; 2], String> {
    let mut ids = <[Vec<i64>; 2]>::default();
    let mut side = 0;
    for piece in post_processor["single"].as_array().into_iter().flatten() {
        if piece.get("type_id").is_some_and(|id| id != 0) {
            return Err(format!("post_processor: expected the token type 0, got {piece}"));
        }
        match piece["ids"].as_array() {
            Some(special) => ids[side].extend(special.iter().filter_map(Value::as_i64)),
            None => side = 1,
        }
    }
    Ok(ids)
}
