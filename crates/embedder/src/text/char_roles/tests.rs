//! Every Unicode character, against what normalisation makes of it.

use unicode_normalization::UnicodeNormalization;

use super::*;

/// What the text normaliser leaves of a character on its own.
fn normalised(c: char) -> Vec<char> {
    match role(c) {
        Role::Dropped => Vec::new(),
        Role::Space => vec![' '],
        Role::Chinese | Role::Text => {
            c.to_lowercase().nfd().filter(|part| !is_accent(*part)).collect()
        }
    }
}

#[test]
fn every_fate_is_certain() {
    for c in '\0'..=char::MAX {
        let parts = normalised(c);
        let split = |part: &char| is_punctuation(*part) || part.is_whitespace();
        let holds = match fate(c) {
            Fate::Vanishes => parts.is_empty(),
            Fate::Separator => parts == [' '],
            Fate::Word => {
                role(c) == Role::Chinese && parts.len() == 1 || parts.len() == 1 && split(&parts[0])
            }
            Fate::Letter => !parts.is_empty() && !parts.iter().any(split),
            Fate::Mixed => true,
        };
        assert!(holds, "U+{:04X} {:?} is no {:?}", u32::from(c), parts, fate(c));
    }
}

#[test]
fn little_is_mixed() {
    let mixed = ('\0'..=char::MAX).filter(|c| fate(*c) == Fate::Mixed).count();
    assert!(mixed < 100, "{mixed} characters would keep a window from counting");
}

#[test]
fn chinese_beyond_the_basic_plane_is_text() {
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
