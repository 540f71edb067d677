//! Text to token ids, as in transformers.js. Stops when the window is full.

use knowledgepulse_workers::CancelToken;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokenizers::{
    canonicalize_post_processor, canonicalize_value, from_json,
    pipeline::{EncodeOptions, Override, PipelineTokenizer},
};

use super::{
    LongText, beginning,
    wordpiece::{Bert, Normalizer, Pieces},
};
use crate::{EmbedError, Result};

/// How much of a text is tokenised at first, in bytes per wanted token.
const BYTES_PER_TOKEN: usize = 8;

/// The number of tokens before a cut in a text that may differ from those of the whole text.
const UNSETTLED_TOKENS: usize = 64;

/// A `tokenizer.json`. Its truncation and padding must not apply.
#[derive(Deserialize)]
struct TokenizerJson<M> {
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    post_processor: Option<Value>,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    model: M,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
}

#[derive(Deserialize)]
struct ModelType {
    #[serde(rename = "type")]
    name: Option<String>,
}

/// The fields that the models have in common.
#[derive(Deserialize)]
struct AnyModel {
    vocab: Value,
    unk_token: Option<String>,
    unk_id: Option<u32>,
}

/// The tokenizer of a model: WordPiece, Unigram or BPE.
pub struct Tokenizer {
    kind: Kind,
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

enum Kind {
    /// BERT, which transformers.js normalises differently from the `tokenizers` crate.
    Bert(Bert),
    /// All others.
    Pipeline(PipelineTokenizer),
}

impl Tokenizer {
    /// Reads the bytes of a `tokenizer.json`, for windows of at most `max_tokens`.
    ///
    /// # Errors
    ///
    /// The file is invalid, or leaves no room for text; a message says why.
    pub fn from_json(json: &[u8], max_tokens: usize) -> Result<Self, String> {
        let mut file: TokenizerJson<ModelType> = parse(json)?;
        let added: Vec<_> = file
            .added_tokens
            .iter()
            .map(|token| (token.content.clone(), i64::from(token.id)))
            .collect();
        let [before, after] = special_ids(file.post_processor.take())?;
        let largest_added = added.iter().map(|(_, id)| *id).max().unwrap_or(0);
        let (kind, unknown, largest) = match file.bert_normalizer() {
            Some(normalizer) => {
                let pieces = parse::<TokenizerJson<Pieces>>(json)?.model;
                let unknown = pieces.id(&pieces.unk_token).map(i64::from);
                let largest = i64::from(pieces.largest_id());
                (Kind::Bert(Bert::new(normalizer, pieces, added)?), unknown, largest)
            }
            None => read_pipeline(json, &added)?,
        };
        let special = before.len() + after.len();
        if max_tokens <= special {
            return Err(format!(
                "{special} special tokens frame a text: expected windows of more, got {max_tokens}"
            ));
        }
        let largest_id = largest.max(largest_added);
        Ok(Self { kind, before, after, unknown, largest_id, max_tokens })
    }

    /// Returns the ids of a text, special ones included, in windows that do not overlap, and whether the text has more.
    ///
    /// One window has the first ids of the text and the special ones. So a text that fills the window ends without
    /// `[SEP]`, as in transformers.js. Of several windows, each is `[CLS] text [SEP]`, and all but the last are full.
    /// After a cancellation, a part of the text is missing.
    ///
    /// # Errors
    ///
    /// A part of the text is not in the vocabulary, which has no token for unknown parts.
    pub fn encode(
        &self,
        text: &str,
        long: LongText,
        cancel: &CancelToken,
    ) -> Result<(Vec<Vec<i64>>, bool)> {
        if long == LongText::Whole {
            let tokens = self.tokens(text, usize::MAX, cancel)?;
            let room = self.max_tokens - self.before.len() - self.after.len();
            let windows = match tokens.len() {
                0 => vec![self.window_of(&[])],
                _ => tokens.chunks(room).map(|tokens| self.window_of(tokens)).collect(),
            };
            return Ok((windows, false));
        }
        let room = self.max_tokens - self.before.len();
        // One token more than there is room for shows that the text is cut.
        let tokens = self.tokens(text, room + 1, cancel)?;
        let mut ids = self.window_of(&tokens);
        ids.truncate(self.max_tokens);
        Ok((vec![ids], tokens.len() > room))
    }

    /// Returns whether a special token is recognised as one token.
    pub fn knows(&self, token: &str) -> bool {
        self.tokens(token, 2, &CancelToken::default()).is_ok_and(|tokens| tokens.len() == 1)
    }

    /// Returns a window of these tokens, with the special ones around them.
    pub fn window_of(&self, tokens: &[i64]) -> Vec<i64> {
        [&self.before, tokens, &self.after].concat()
    }

    /// Returns the share of unknown tokens in windows, without special ones.
    pub(crate) fn unknown_share(&self, windows: &[Vec<i64>]) -> f64 {
        let special = self.before.len() + self.after.len();
        let tokens: usize = windows.iter().map(|ids| ids.len().saturating_sub(special)).sum();
        let unknown = windows.iter().flatten().filter(|id| Some(**id) == self.unknown).count();
        if tokens == 0 { 0.0 } else { unknown.min(tokens) as f64 / tokens as f64 }
    }

    /// Returns the ids of a text without special ones: all, or at least the first `enough`.
    fn tokens(&self, text: &str, enough: usize, cancel: &CancelToken) -> Result<Vec<i64>> {
        match &self.kind {
            Kind::Bert(bert) => Ok(bert.tokens(text, enough, cancel)),
            Kind::Pipeline(pipeline) => pipeline_tokens(pipeline, text, enough, cancel),
        }
    }
}

impl TokenizerJson<ModelType> {
    /// Returns the normaliser if this is a BERT tokenizer.
    fn bert_normalizer(&self) -> Option<Normalizer> {
        let is = |part: &Option<Value>, kind: &str| {
            part.as_ref().and_then(|part| part.get("type")).is_some_and(|found| found == kind)
        };
        let has_pieces = self.model.name.as_deref().is_none_or(|name| name == "WordPiece");
        let is_bert = is(&self.normalizer, "BertNormalizer")
            && is(&self.pre_tokenizer, "BertPreTokenizer")
            && has_pieces;
        let normalizer = self.normalizer.clone().filter(|_| is_bert)?;
        serde_json::from_value::<Normalizer>(normalizer).ok().filter(|read| read.clean_text)
    }
}

fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|error| error.to_string())
}

/// Returns the special ids before and after a text.
fn special_ids(post_processor: Option<Value>) -> Result<[Vec<i64>; 2], String> {
    let Some(mut processor) = post_processor else { return Ok(Default::default()) };
    canonicalize_post_processor(&mut processor).map_err(|error| error.to_string())?;
    let mut ids = <[Vec<i64>; 2]>::default();
    let mut side = 0;
    for piece in processor.get("single").and_then(Value::as_array).into_iter().flatten() {
        if piece.get("type_id").is_some_and(|id| id != 0) {
            return Err(format!("post_processor: expected the token type 0, got {piece}"));
        }
        match piece.get("ids").and_then(Value::as_array) {
            Some(special) => ids[side].extend(special.iter().filter_map(Value::as_i64)),
            None => side = 1,
        }
    }
    Ok(ids)
}

/// Returns a tokenizer of the `tokenizers` crate, the id of its unknown token, and its largest id.
fn read_pipeline(json: &[u8], added: &[(String, i64)]) -> Result<(Kind, Option<i64>, i64), String> {
    let mut value: Value = parse(json)?;
    canonicalize_value(&mut value).map_err(|error| error.to_string())?;
    let model = AnyModel::deserialize(&value["model"]).map_err(|error| error.to_string())?;
    let id = |token: String| {
        let added = added.iter().find(|(known, _)| *known == token).map(|(_, id)| *id);
        added.or_else(|| model.vocab.get(&token)?.as_i64())
    };
    let unknown = model.unk_id.map(i64::from).or_else(|| model.unk_token.and_then(id));
    let largest = match &model.vocab {
        Value::Array(pieces) => pieces.len() as i64 - 1,
        Value::Object(ids) => ids.values().filter_map(Value::as_i64).max().unwrap_or(0),
        _ => return Err("model.vocab: expected an object or an array".into()),
    };
    let pipeline = from_json(&value.to_string()).map_err(|error| error.to_string())?;
    Ok((Kind::Pipeline(pipeline), unknown, largest))
}

/// Returns the ids of a text without special ones: all, or at least the first `enough`. Tokenises the text from
/// its beginning, twice as much each time, until there are enough.
fn pipeline_tokens(
    pipeline: &PipelineTokenizer,
    text: &str,
    enough: usize,
    cancel: &CancelToken,
) -> Result<Vec<i64>> {
    let (padding, truncation) = (Override::Off, Override::Off);
    let options = EncodeOptions { padding, truncation, ..EncodeOptions::no_specials() };
    let wanted = enough.saturating_add(UNSETTLED_TOKENS);
    let mut bytes = wanted.saturating_mul(BYTES_PER_TOKEN);
    loop {
        let end = beginning(text, bytes).len();
        let mut tokens = Vec::new();
        pipeline
            .encode_into(&text[..end], &options, &mut tokens)
            .map_err(|error| EmbedError::Model(format!("its tokenizer: {error}")))?;
        if end == text.len() || tokens.len() >= wanted || cancel.is_cancelled() {
            let tokens = tokens.iter().take(if end == text.len() { usize::MAX } else { enough });
            return Ok(tokens.map(|token| i64::from(token.id())).collect());
        }
        bytes = bytes.saturating_mul(2);
    }
}
