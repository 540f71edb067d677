//! What BERT's text normaliser makes of a single character.
//!
//! The rules are those of transformers.js, whose scores are the reference, and not those of the
//! `tokenizers` crate: Chinese characters beyond the Basic Multilingual Plane, for instance, are
//! not split apart there, because that code walks UTF-16 code units.

use once_cell::sync::OnceCell;
use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// The part a character plays before lowercasing and decomposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Control, format and private-use characters, U+0000 and U+FFFD: dropped.
    Dropped,
    /// Separates words.
    Space,
    /// Is a word of its own.
    Chinese,
    /// Everything else; punctuation is only told apart after decomposition.
    Text,
}

/// The role of a raw character.
pub fn role(c: char) -> Role {
    if c.is_ascii() {
        return match c {
            '\t' | '\n' | '\r' | ' ' => Role::Space,
            c if c.is_ascii_control() => Role::Dropped,
            _ => Role::Text,
        };
    }
    match c {
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}' => {
            Role::Chinese
        }
        '\u{fffd}' => Role::Dropped,
        _ => match c.general_category() {
            GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate => Role::Dropped,
            _ if c.is_whitespace() => Role::Space,
            _ => Role::Text,
        },
    }
}

/// Whether a decomposed character stands alone as a word: Unicode punctuation and ASCII symbols.
pub fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// Whether a decomposed character is an accent, which is stripped.
pub fn is_accent(c: char) -> bool {
    !c.is_ascii() && c.general_category() == GeneralCategory::NonspacingMark
}

/// What a raw character is certain to become, whatever stands around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Nothing, or an accent that is stripped.
    Vanishes,
    /// A separator of words.
    Separator,
    /// Exactly one word of its own.
    Word,
    /// At least one character inside a word.
    Letter,
    /// Hard to tell: it may fall apart into letters and punctuation.
    Mixed,
}

/// Characters to a page of the table of fates.
const PAGE: usize = 256;

/// The fates of all characters, a page worked out when its first character turns up.
static FATES: [OnceCell<Box<[Fate; PAGE]>>; (char::MAX as usize + 1) / PAGE] =
    [const { OnceCell::new() }; (char::MAX as usize + 1) / PAGE];

/// The fate of a raw character.
pub fn fate(c: char) -> Fate {
    let code = c as usize;
    FATES[code / PAGE].get_or_init(|| page(code / PAGE * PAGE))[code % PAGE]
}

fn page(first: usize) -> Box<[Fate; PAGE]> {
    // Surrogates do not occur in text.
    let fate = |at| char::from_u32((first + at) as u32).map_or(Fate::Vanishes, fate_of);
    Box::new(std::array::from_fn(fate))
}

fn fate_of(c: char) -> Fate {
    if c.is_ascii_alphanumeric() {
        return Fate::Letter;
    }
    match role(c) {
        Role::Dropped => Fate::Vanishes,
        Role::Space => Fate::Separator,
        Role::Chinese => Fate::Word,
        Role::Text if c.is_ascii() => Fate::Word,
        Role::Text => fate_of_parts(c),
    }
}

fn fate_of_parts(c: char) -> Fate {
    let mut fate = Fate::Vanishes;
    for lower in c.to_lowercase() {
        decompose_canonical(lower, |part| {
            let next = match part {
                _ if is_accent(part) => return,
                _ if is_punctuation(part) => Fate::Word,
                _ => Fate::Letter,
            };
            fate = match fate {
                Fate::Vanishes => next,
                Fate::Letter if next == Fate::Letter => Fate::Letter,
                _ => Fate::Mixed,
            };
        });
    }
    fate
}

#[cfg(test)]
mod tests;
