//! BERT's text normaliser and word splitter.
//!
//! The rules are those of transformers.js, whose scores are the reference, not those of the `tokenizers` crate.
//! For example, transformers.js iterates over UTF-16 code units and therefore does not split Chinese characters
//! outside the Basic Multilingual Plane.

use std::{cmp::Reverse, iter};

use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

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

/// Returns the longest beginning of a text of at most `bytes`.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// How a character is treated before lowercasing and decomposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Removed: control, format and private-use characters, U+0000 and U+FFFD.
    Dropped,
    /// Separates words.
    Space,
    /// A word by itself.
    Chinese,
    /// Everything else. Punctuation is recognised after decomposition.
    Text,
}

/// Returns the role of a character of the text.
fn role(c: char) -> Role {
    use GeneralCategory::{Control, Format, PrivateUse};
    match c {
        '\t' | '\n' | '\r' | ' ' => Role::Space,
        '!'..='~' => Role::Text,
        '\u{fffd}' => Role::Dropped,
        _ if is_chinese(c) => Role::Chinese,
        _ if matches!(c.general_category(), Control | Format | PrivateUse) => Role::Dropped,
        _ if c.is_whitespace() => Role::Space,
        _ => Role::Text,
    }
}

/// Returns whether a character is a Chinese one of the Basic Multilingual Plane.
pub fn is_chinese(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}')
}

/// Returns whether a decomposed character is a word by itself: Unicode punctuation and ASCII symbols.
fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// Returns whether a decomposed character is an accent, which is stripped.
fn is_accent(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::NonspacingMark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_splits_chinese_of_the_basic_plane_only() {
        for (c, expected) in [
            ('中', Role::Chinese),
            ('豈', Role::Chinese),
            ('\u{20000}', Role::Text),
            ('あ', Role::Text),
            ('\u{200b}', Role::Dropped),
            ('\u{feff}', Role::Dropped),
            ('\u{85}', Role::Dropped),
            ('\u{b}', Role::Dropped),
            ('\u{a0}', Role::Space),
            ('\u{3000}', Role::Space),
            ('\u{e000}', Role::Dropped),
        ] {
            assert_eq!(role(c), expected, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn chinese_characters_survive_normalisation() {
        for c in ('\0'..=char::MAX).filter(|c| is_chinese(*c)) {
            let normalised: Vec<char> = c.to_lowercase().nfd().collect();
            let is_kept = |c: &char| !is_accent(*c) && !is_punctuation(*c);
            assert!(normalised.iter().all(is_kept), "U+{:04X}", u32::from(c));
        }
    }
}
