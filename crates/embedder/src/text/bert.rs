//! BERT's text normaliser and word splitter, as in transformers.js.

use std::{cmp::Reverse, iter};

use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;

use super::{
    char_roles::{Role, is_accent, is_punctuation, role},
    text_buffer::beginning,
};

/// How much of a text is normalised at a time, in bytes.
const PIECE: usize = 1024;

/// The `BertNormalizer` of a `tokenizer.json`.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Normalizer {
    pub clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    lowercase: bool,
}

impl Normalizer {
    /// That of the built-in model.
    pub const UNCASED: Self =
        Self { clean_text: true, handle_chinese_chars: true, strip_accents: None, lowercase: true };
}

/// A token that is recognised in the text before normalisation.
#[derive(Deserialize)]
pub struct AddedToken {
    pub id: i64,
    pub content: String,
}

/// Splits texts into added tokens and words.
pub struct Bert {
    normalizer: Normalizer,
    /// The longest first.
    added: Vec<AddedToken>,
    /// The first characters of `added`.
    beginnings: Vec<char>,
}

impl Bert {
    pub fn new(normalizer: Normalizer, mut added: Vec<AddedToken>) -> Self {
        added.retain(|token| !token.content.is_empty());
        added.sort_by_key(|token| Reverse(token.content.len()));
        let beginnings = added.iter().filter_map(|token| token.content.chars().next()).collect();
        Self { normalizer, added, beginnings }
    }

    /// Returns the text before each added token with the id of the token, and the text after the last one.
    pub fn sections<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (&'t str, Option<i64>)> {
        let mut rest = Some(text);
        iter::from_fn(move || {
            let text = rest.take()?;
            let next = text.match_indices(&self.beginnings[..]).find_map(|(at, _)| {
                let begins = |token: &&AddedToken| text[at..].starts_with(&token.content);
                Some((at, self.added.iter().find(begins)?))
            });
            let Some((at, token)) = next else { return Some((text, None)) };
            rest = Some(&text[at + token.content.len()..]);
            Some((&text[..at], Some(token.id)))
        })
    }

    /// Returns the normalised words of a text without added tokens, separated by spaces, in pieces.
    pub fn words(&self, mut text: &str) -> impl Iterator<Item = String> {
        iter::from_fn(move || {
            let least = beginning(text, PIECE).len();
            // Text before white space or a Chinese character is normalised separately.
            let separates = |c| matches!(self.role(c), Role::Space | Role::Chinese);
            let end = text[least..].find(separates).map_or(text.len(), |at| least + at);
            let piece;
            (piece, text) = text.split_at(end);
            (!piece.is_empty()).then(|| self.normalized(piece))
        })
    }

    fn role(&self, c: char) -> Role {
        match role(c) {
            Role::Chinese if !self.normalizer.handle_chinese_chars => Role::Text,
            role => role,
        }
    }

    fn normalized(&self, text: &str) -> String {
        let Normalizer { lowercase, strip_accents, .. } = self.normalizer;
        let mut cleaned = String::with_capacity(text.len());
        for c in text.chars() {
            match self.role(c) {
                Role::Text => cleaned.push(c),
                Role::Dropped => {}
                Role::Space => cleaned.push(' '),
                Role::Chinese => cleaned.extend([' ', c, ' ']),
            }
        }
        if lowercase {
            // Not per character, because a final sigma depends on its neighbours.
            cleaned = cleaned.to_lowercase();
        }
        if strip_accents.unwrap_or(lowercase) && !cleaned.is_ascii() {
            cleaned = cleaned.nfd().filter(|c| !is_accent(*c)).collect();
        }
        let mut words = String::with_capacity(cleaned.len());
        for c in cleaned.chars() {
            if is_punctuation(c) {
                words.extend([' ', c, ' ']);
            } else {
                words.push(c);
            }
        }
        words
    }
}
