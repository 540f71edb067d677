//! BERT's normaliser, word splitter and WordPiece, as in transformers.js. Stops when there are enough tokens.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use knowledgepulse_workers::CancelToken;
use serde::Deserialize;
use tokenizers::{
    models::wordpiece::{PipelineWordPiece, WordPiece, WordPieceScratch},
    pipeline::{Model, PipelineToken},
};
use unicode_normalization::UnicodeNormalization;

use super::char_roles::{Role, is_accent, is_punctuation, role};

/// The `BertNormalizer` of a `tokenizer.json`.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Normalizer {
    pub clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    lowercase: bool,
}

/// The `WordPiece` model of a `tokenizer.json`.
#[derive(Deserialize)]
pub struct Pieces {
    vocab: HashMap<String, u32>,
    pub unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
}

impl Pieces {
    pub fn id(&self, token: &str) -> Option<u32> {
        self.vocab.get(token).copied()
    }

    pub fn largest_id(&self) -> u32 {
        self.vocab.values().copied().max().unwrap_or(0)
    }
}

pub struct Bert {
    normalizer: Normalizer,
    model: PipelineWordPiece,
    /// Tokens that are recognised in the text before normalisation, the longest first, with their ids.
    added: Vec<(String, i64)>,
    /// The first characters of `added`.
    beginnings: Vec<char>,
    /// Unused word caches; at most one for each thread.
    scratch: Mutex<Vec<WordPieceScratch>>,
}

impl Bert {
    /// Makes a tokenizer.
    ///
    /// # Errors
    ///
    /// The vocabulary is invalid; a message says why.
    pub fn new(
        normalizer: Normalizer,
        pieces: Pieces,
        mut added: Vec<(String, i64)>,
    ) -> Result<Self, String> {
        if pieces.id(&pieces.unk_token).is_none() {
            return Err(format!("the vocabulary has no {}", pieces.unk_token));
        }
        let model = WordPiece {
            vocab: pieces.vocab.into_iter().collect(),
            unk_token: pieces.unk_token,
            continuing_subword_prefix: pieces.continuing_subword_prefix,
            max_input_chars_per_word: pieces.max_input_chars_per_word,
            ..WordPiece::default()
        };
        let model = PipelineWordPiece::try_from(model).map_err(|error| error.to_string())?;
        added.retain(|(token, _)| !token.is_empty());
        added.sort_by_key(|(token, _)| std::cmp::Reverse(token.len()));
        let beginnings = added.iter().filter_map(|(token, _)| token.chars().next()).collect();
        Ok(Self { normalizer, model, added, beginnings, scratch: Mutex::default() })
    }

    /// Returns the token ids of a text without special tokens: all, or at least the first `enough`.
    pub fn tokens(&self, text: &str, enough: usize, cancel: &CancelToken) -> Vec<i64> {
        let pooled = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut run = Run {
            bert: self,
            scratch: pooled.unwrap_or_else(|| self.model.init_scratch()),
            pieces: Vec::new(),
            ids: Vec::new(),
            enough,
            cancel,
        };
        run.text(text);
        let Run { scratch, ids, .. } = run;
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        ids
    }
}

/// The state while one text is tokenised.
struct Run<'t> {
    bert: &'t Bert,
    scratch: WordPieceScratch,
    pieces: Vec<PipelineToken>,
    ids: Vec<i64>,
    enough: usize,
    cancel: &'t CancelToken,
}

impl Run<'_> {
    fn is_done(&self) -> bool {
        self.ids.len() >= self.enough || self.cancel.is_cancelled()
    }

    /// Splits off the added tokens, which are not normalised.
    fn text(&mut self, text: &str) {
        let mut start = 0;
        for (at, _) in text.match_indices(&self.bert.beginnings[..]) {
            let rest = &text[at..];
            let found = self.bert.added.iter().find(|(token, _)| rest.starts_with(token.as_str()));
            if let Some((token, id)) = found
                && at >= start
            {
                self.section(&text[start..at]);
                self.ids.push(*id);
                start = at + token.len();
            }
            if self.is_done() {
                return;
            }
        }
        self.section(&text[start..]);
    }

    /// Removes control characters and splits at white space and around Chinese characters.
    fn section(&mut self, text: &str) {
        let mut segment = String::new();
        for c in text.chars() {
            match role(c) {
                Role::Chinese if self.bert.normalizer.handle_chinese_chars => {
                    self.segment(&mut segment);
                    segment.push(c);
                    self.segment(&mut segment);
                }
                Role::Text | Role::Chinese => segment.push(c),
                Role::Dropped => {}
                Role::Space => self.segment(&mut segment),
            }
            if self.is_done() {
                return;
            }
        }
        self.segment(&mut segment);
    }

    /// Lowercases, strips accents and splits off punctuation. Leaves `segment` empty.
    fn segment(&mut self, segment: &mut String) {
        let Normalizer { lowercase, strip_accents, .. } = self.bert.normalizer;
        if segment.is_ascii() {
            if lowercase {
                segment.make_ascii_lowercase();
            }
            self.words(segment);
        } else {
            if lowercase {
                // Not character by character, because a final sigma depends on its neighbours.
                *segment = segment.to_lowercase();
            }
            if strip_accents.unwrap_or(lowercase) {
                *segment = segment.nfd().filter(|c| !is_accent(*c)).collect();
            }
            self.words(segment);
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
            if self.is_done() {
                return;
            }
        }
        self.word(&segment[start..]);
    }

    fn word(&mut self, word: &str) {
        self.pieces.clear();
        self.bert
            .model
            .tokenize_pipeline(word, &mut self.scratch, &mut self.pieces)
            .expect("`new` has checked that the vocabulary has the unknown token");
        self.ids.extend(self.pieces.iter().map(|piece| i64::from(piece.id())));
    }
}
