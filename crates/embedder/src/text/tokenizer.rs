//! Text to token ids, as transformers.js makes them, stopping when the window is full.

use knowledgepulse_workers::CancelToken;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokenizers::{
    canonicalize_post_processor, canonicalize_value, from_json,
    pipeline::{EncodeOptions, Override, PipelineTokenizer},
};

use super::{
    beginning,
    bert::{Bert, Normalizer, Pieces},
};
use crate::EmbedError;

/// How much of a text is tokenised at first, in bytes for each token that is wanted.
const BYTES_PER_TOKEN: usize = 8;

/// Where a text is cut, so many of the last tokens may differ from those of the whole text.
const UNSETTLED_TOKENS: usize = 64;

/// The parts of a `tokenizer.json` that tell how to read the rest. Its truncation and padding must not
/// apply.
#[derive(Deserialize)]
struct Head {
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    post_processor: Option<Value>,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    model: ModelKind,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
}

#[derive(Deserialize)]
struct ModelKind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// The model of a `tokenizer.json`.
#[derive(Deserialize)]
struct File<M> {
    model: M,
}

/// What models have in common.
#[derive(Deserialize)]
struct AnyModel {
    vocab: Value,
    unk_token: Option<String>,
    unk_id: Option<u32>,
}

/// The tokenizer of a model: WordPiece, Unigram or BPE.
pub struct Tokenizer {
    kind: Kind,
    /// Ids that stand before each text, such as that of `[CLS]`.
    before: Vec<i64>,
    /// Ids that stand behind each text, such as that of `[SEP]`.
    after: Vec<i64>,
    unknown: Option<i64>,
    largest: i64,
    max_tokens: usize,
}

enum Kind {
    /// Words of BERT, whose normalisation transformers.js does otherwise than the `tokenizers` crate.
    Bert(Bert),
    /// Everything else.
    Pipeline(PipelineTokenizer),
}

/// The window of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The token ids, special ones included.
    pub ids: Vec<i64>,
    /// Whether tokens of the text had to be left out.
    pub is_cut: bool,
}

impl Tokenizer {
    /// Reads the bytes of a `tokenizer.json`, for windows of at most `max_tokens`.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with it.
    pub fn from_json(json: &[u8], max_tokens: usize) -> Result<Self, String> {
        let mut head: Head = parse(json)?;
        let added: Vec<_> = head
            .added_tokens
            .iter()
            .map(|token| (token.content.clone(), i64::from(token.id)))
            .collect();
        let [before, after] = frame(head.post_processor.take())?;
        let largest_added = added.iter().map(|(_, id)| *id).max().unwrap_or(0);
        let (kind, unknown, largest) = match head.bert() {
            Some(normalizer) => {
                let pieces = parse::<File<Pieces>>(json)?.model;
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
        let largest = largest.max(largest_added);
        Ok(Self { kind, before, after, unknown, largest, max_tokens })
    }

    /// Returns the most tokens of a window.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Returns the window of a text: its ids between the special ones, cut to the first
    /// [`Tokenizer::max_tokens`].
    ///
    /// A text that fills the window therefore ends without `[SEP]`, as in transformers.js.
    ///
    /// # Errors
    ///
    /// The text has something that the vocabulary has not, not even as unknown.
    pub fn encode_window(&self, text: &str) -> Result<Window, EmbedError> {
        let room = self.max_tokens - self.before.len();
        // One token more than there is room for tells that the text is cut.
        let tokens = self.tokens(text, room + 1, &CancelToken::default())?;
        let is_cut = tokens.len() > room;
        let mut ids = [&self.before[..], &tokens, &self.after].concat();
        ids.truncate(self.max_tokens);
        Ok(Window { ids, is_cut })
    }

    /// Returns the ids of all of a text, in windows of `[CLS] text [SEP]`, each of at most
    /// [`Tokenizer::max_tokens`]. They do not overlap; all but the last are full. Part of the text is
    /// missing after a cancellation.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode_window`].
    pub fn encode_windows(
        &self,
        text: &str,
        cancel: &CancelToken,
    ) -> Result<Vec<Vec<i64>>, EmbedError> {
        let tokens = self.tokens(text, usize::MAX, cancel)?;
        Ok(match tokens.len() {
            0 => vec![self.framed(&[])],
            _ => {
                let room = self.max_tokens - self.before.len() - self.after.len();
                tokens.chunks(room).map(|tokens| self.framed(tokens)).collect()
            }
        })
    }

    /// Returns the largest id of the vocabulary.
    pub fn largest_id(&self) -> i64 {
        self.largest
    }

    /// Returns a window of one token.
    pub fn window_of(&self, id: i64) -> Vec<i64> {
        self.framed(&[id])
    }

    /// Returns whether a special token stands for itself.
    pub fn knows(&self, token: &str) -> bool {
        self.tokens(token, 2, &CancelToken::default()).is_ok_and(|tokens| tokens.len() == 1)
    }

    /// Tokens between the special ones.
    fn framed(&self, tokens: &[i64]) -> Vec<i64> {
        [&self.before, tokens, &self.after].concat()
    }

    /// Returns how many of the ids of a window stand for text, and how many of these are unknown.
    pub fn count_unknown(&self, ids: &[i64]) -> (usize, usize) {
        let tokens = ids.len().saturating_sub(self.before.len() + self.after.len());
        let unknown = ids.iter().filter(|id| Some(**id) == self.unknown).count();
        (tokens, unknown.min(tokens))
    }

    /// The ids of a text without special ones; of a longer one at least the first `most`.
    fn tokens(
        &self,
        text: &str,
        most: usize,
        cancel: &CancelToken,
    ) -> Result<Vec<i64>, EmbedError> {
        match &self.kind {
            Kind::Bert(bert) => Ok(bert.tokens(text, most, cancel)),
            Kind::Pipeline(pipeline) => pipeline_tokens(pipeline, text, most, cancel),
        }
    }
}

impl Head {
    /// The normaliser of a tokenizer whose words are those of BERT.
    fn bert(&self) -> Option<Normalizer> {
        let is = |part: &Option<Value>, kind: &str| {
            part.as_ref().and_then(|part| part.get("type")).is_some_and(|found| found == kind)
        };
        let has_pieces = self.model.kind.as_deref().is_none_or(|kind| kind == "WordPiece");
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

/// The ids before and behind a text.
fn frame(post_processor: Option<Value>) -> Result<[Vec<i64>; 2], String> {
    let Some(mut processor) = post_processor else { return Ok(Default::default()) };
    canonicalize_post_processor(&mut processor).map_err(|error| error.to_string())?;
    let mut frame = <[Vec<i64>; 2]>::default();
    let mut side = 0;
    for piece in processor.get("single").and_then(Value::as_array).into_iter().flatten() {
        if piece.get("type_id").is_some_and(|id| id != 0) {
            return Err(format!("post_processor: expected the token type 0, got {piece}"));
        }
        match piece.get("ids").and_then(Value::as_array) {
            Some(ids) => frame[side].extend(ids.iter().filter_map(Value::as_i64)),
            None => side = 1,
        }
    }
    Ok(frame)
}

/// Reads what the `tokenizers` crate runs as a whole, the id of the unknown token, and the largest id.
fn read_pipeline(json: &[u8], added: &[(String, i64)]) -> Result<(Kind, Option<i64>, i64), String> {
    let mut value: Value = parse(json)?;
    canonicalize_value(&mut value).map_err(|error| error.to_string())?;
    let model: AnyModel = serde_json::from_value::<File<AnyModel>>(value.clone())
        .map_err(|error| error.to_string())?
        .model;
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

/// The ids of a text without special ones; of a longer one at least the first `most`. Text is tokenised from
/// its beginning, twice as much each time, until there are enough.
fn pipeline_tokens(
    pipeline: &PipelineTokenizer,
    text: &str,
    most: usize,
    cancel: &CancelToken,
) -> Result<Vec<i64>, EmbedError> {
    let (padding, truncation) = (Override::Off, Override::Off);
    let options = EncodeOptions { padding, truncation, ..EncodeOptions::no_specials() };
    let enough = most.saturating_add(UNSETTLED_TOKENS);
    let mut bytes = enough.saturating_mul(BYTES_PER_TOKEN);
    loop {
        let end = beginning(text, bytes).len();
        let mut tokens = Vec::new();
        pipeline
            .encode_into(&text[..end], &options, &mut tokens)
            .map_err(|error| EmbedError::Model(format!("its tokenizer: {error}")))?;
        if end == text.len() || tokens.len() >= enough || cancel.is_cancelled() {
            let tokens = tokens.iter().take(if end == text.len() { usize::MAX } else { most });
            return Ok(tokens.map(|token| i64::from(token.id())).collect());
        }
        bytes = bytes.saturating_mul(2);
    }
}
