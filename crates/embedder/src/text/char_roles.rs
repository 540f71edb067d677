//! How BERT's text normaliser treats a single character.
//!
//! The rules are those of transformers.js, whose scores are the reference, not those of the `tokenizers` crate.
//! For example, transformers.js iterates over UTF-16 code units and therefore does not split Chinese characters
//! outside the Basic Multilingual Plane.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// How a character is treated before lowercasing and decomposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
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
pub fn role(c: char) -> Role {
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
pub fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// Returns whether a decomposed character is an accent, which is stripped.
pub fn is_accent(c: char) -> bool {
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
        use unicode_normalization::UnicodeNormalization;

        for c in ('\0'..=char::MAX).filter(|c| is_chinese(*c)) {
            let normalised: Vec<char> = c.to_lowercase().nfd().collect();
            let is_kept = |c: &char| !is_accent(*c) && !is_punctuation(*c);
            assert!(normalised.iter().all(is_kept), "U+{:04X}", u32::from(c));
        }
    }
}
