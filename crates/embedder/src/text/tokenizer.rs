//! Text to token ids, as transformers.js makes them, stopping when the window is full.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use knowledgepulse_tasks::CancelToken;
use serde::Deserialize;
use tokenizers::{
    models::wordpiece::{PipelineWordPiece, WordPiece, WordPieceScratch},
    pipeline::{Model, PipelineToken},
};
use unicode_normalization::UnicodeNormalization;

use super::chars::{Role, is_accent, is_punctuation, role};
use crate::MAX_TOKENS;

/// Tokens that stand in the text as themselves, before any normalisation.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// The parts of a `tokenizer.json` that are used. Its truncation and padding must not apply.
#[derive(Deserialize)]
struct File {
    model: ModelFile,
}

#[derive(Deserialize)]
struct ModelFile {
    vocab: HashMap<String, u32>,
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
}

/// The uncased BERT tokenizer of all-MiniLM-L6-v2.
pub struct Tokenizer {
    model: PipelineWordPiece,
    special: [(&'static str, i64); SPECIAL.len()],
    cls: i64,
    sep: i64,
    /// Word caches, one for each thread that has tokenised at the same time as others.
    scratch: Mutex<Vec<WordPieceScratch>>,
}

impl Tokenizer {
    /// Reads the bytes of a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with it.
    pub fn from_json(json: &[u8]) -> Result<Self, String> {
        let file: File = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let vocab = file.model.vocab;
        let id = |token: &str| {
            let id = vocab.get(token).ok_or_else(|| format!("the vocabulary has no {token}"))?;
            Ok::<_, String>(i64::from(*id))
        };
        let mut special = SPECIAL.map(|token| (token, 0));
        for (token, slot) in &mut special {
            *slot = id(token)?;
        }
        let (cls, sep) = (id("[CLS]")?, id("[SEP]")?);
        let model = WordPiece {
            vocab: vocab.into_iter().collect(),
            unk_token: file.model.unk_token,
            continuing_subword_prefix: file.model.continuing_subword_prefix,
            max_input_chars_per_word: file.model.max_input_chars_per_word,
            ..WordPiece::default()
        };
        let model = PipelineWordPiece::try_from(model).map_err(|error| error.to_string())?;
        Ok(Self { model, special, cls, sep, scratch: Mutex::default() })
    }

    /// Returns the ids of `[CLS] text [SEP]`, cut to the first [`MAX_TOKENS`], 2 to 512 of them, and
    /// whether tokens of the text had to be left out.
    ///
    /// A text that fills the window therefore ends without `[SEP]`, as in the TypeScript SDK.
    pub fn encode_window(&self, text: &str) -> (Vec<i64>, bool) {
        // One token more than there is room for tells that the text is cut.
        let mut ids = self.tokens(text, MAX_TOKENS, &CancelToken::default());
        let is_cut = ids.len() >= MAX_TOKENS;
        ids.insert(0, self.cls);
        ids.push(self.sep);
        ids.truncate(MAX_TOKENS);
        (ids, is_cut)
    }

    /// Returns the ids of all of a text, in windows of `[CLS] text [SEP]`, each of 2 to [`MAX_TOKENS`]. They do
    /// not overlap; all but the last are full. Part of the text is missing after a cancellation.
    pub fn encode_windows(&self, text: &str, cancel: &CancelToken) -> Vec<Vec<i64>> {
        let tokens = self.tokens(text, usize::MAX, cancel);
        let window = |tokens: &[i64]| [&[self.cls], tokens, &[self.sep]].concat();
        match tokens.len() {
            0 => vec![window(&[])],
            _ => tokens.chunks(MAX_TOKENS - 2).map(window).collect(),
        }
    }

    /// The ids of a text without special ones; of a longer one at least the first `most`.
    fn tokens(&self, text: &str, most: usize, cancel: &CancelToken) -> Vec<i64> {
        let pooled = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut run = Run {
            tokenizer: self,
            scratch: pooled.unwrap_or_else(|| self.model.init_scratch()),
            pieces: Vec::new(),
            ids: Vec::new(),
            most,
            cancel,
        };
        run.text(text);
        let Run { scratch, ids, .. } = run;
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        ids
    }
}

/// One text on its way through the tokenizer.
struct Run<'t> {
    tokenizer: &'t Tokenizer,
    scratch: WordPieceScratch,
    pieces: Vec<PipelineToken>,
    ids: Vec<i64>,
    /// So many are enough.
    most: usize,
    cancel: &'t CancelToken,
}

impl Run<'_> {
    /// Whether further tokens are of no use.
    fn is_full(&self) -> bool {
        self.ids.len() >= self.most || self.cancel.is_cancelled()
    }

    /// Splits at special tokens, which no normalisation may touch.
    fn text(&mut self, text: &str) {
        let mut start = 0;
        for (at, _) in text.match_indices('[') {
            let rest = &text[at..];
            let found = self.tokenizer.special.iter().find(|(token, _)| rest.starts_with(token));
            if let Some(&(token, id)) = found {
                self.section(&text[start..at]);
                self.ids.push(id);
                start = at + token.len();
            }
            if self.is_full() {
                return;
            }
        }
        self.section(&text[start..]);
    }

    /// Cleans a text and splits it at white space and around Chinese characters.
    fn section(&mut self, text: &str) {
        let mut segment = String::new();
        for c in text.chars() {
            match role(c) {
                Role::Text => segment.push(c),
                Role::Dropped => {}
                Role::Space => self.segment(&mut segment),
                Role::Chinese => {
                    self.segment(&mut segment);
                    segment.push(c);
                    self.segment(&mut segment);
                }
            }
            if self.is_full() {
                return;
            }
        }
        self.segment(&mut segment);
    }

    /// Lowercases, strips accents and splits off punctuation; leaves `segment` empty.
    fn segment(&mut self, segment: &mut String) {
        if segment.is_ascii() {
            segment.make_ascii_lowercase();
            self.words(segment);
        } else {
            // As a whole, because a final sigma depends on its neighbours.
            let lower = segment.to_lowercase();
            self.words(&lower.nfd().filter(|c| !is_accent(*c)).collect::<String>());
        }
        segment.clear();
    }

    fn words(&mut self, segment: &str) {
        let mut start = 0;
        for (at, c) in segment.char_indices().filter(|(_, c)| is_punctuation(*c)) {
            let after = at + c.len_utf8();
            self.word(&segment[start..at]);
            self.word(&segment[at..after]);
            start = after;
            if self.is_full() {
                return;
            }
        }
        self.word(&segment[start..]);
    }

    fn word(&mut self, word: &str) {
        self.pieces.clear();
        self.tokenizer
            .model
            .tokenize_pipeline(word, &mut self.scratch, &mut self.pieces)
            .expect("the vocabulary has [UNK], the only thing that can be missing");
        self.ids.extend(self.pieces.iter().map(|piece| i64::from(piece.id())));
    }
}
