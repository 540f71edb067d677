//! A vector of the word pairs of a text, without a model.
//!
//! Feature hashing (Weinberger et al., 2009) of the distinct pairs of adjacent words, in Unicode's normal form C. Counts are
//! integers, so a sketch is the same on every machine. Another sketch needs another fingerprint (`src/model.rs`).

use std::borrow::Cow;

use knowledgepulse_workers::CancelToken;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::{
    embed_error::{EmbedError, Result},
    shape::Embedding,
};

/// The length of a sketch.
pub const SKETCH_LEN: usize = 384;

/// The number of characters between two looks at the token.
const BLOCK: usize = 1 << 16;

/// The number of characters of a word that count.
const LONGEST_WORD: usize = 32;

/// Scripts without spaces, in which a character is a word: Thai and Lao, Burmese, Khmer, Kana, Han.
const WITHOUT_SPACES: [std::ops::RangeInclusive<char>; 10] = [
    '\u{0e00}'..='\u{0eff}',
    '\u{1000}'..='\u{109f}',
    '\u{1780}'..='\u{17ff}',
    '\u{3041}'..='\u{30ff}',
    '\u{31f0}'..='\u{31ff}',
    '\u{3400}'..='\u{4dbf}',
    '\u{4e00}'..='\u{9fff}',
    '\u{f900}'..='\u{faff}',
    '\u{ff66}'..='\u{ff9f}',
    '\u{20000}'..='\u{323af}',
];

/// Returns the sketch of a text, at length 1, or zeros if it has only white space. In a text without words, each character is
/// one.
///
/// # Errors
///
/// [`EmbedError::Cancelled`] after [`CancelToken::cancel`].
pub fn sketch(text: &str, cancel: &CancelToken) -> Result<Embedding> {
    counts(text, cancel).map(unit)
}

/// Returns an embedding and a sketch as one vector of length 1, to whose similarities both contribute equally.
pub fn joined(embedding: &[f32], sketch: &[f32]) -> Embedding {
    unit([unit(embedding.iter().copied()), sketch.into()].concat())
}

/// Returns a vector at length 1, or zeros.
fn unit<T: Into<f64>>(vector: impl IntoIterator<Item = T>) -> Embedding {
    let vector: Vec<f64> = vector.into_iter().map(Into::into).collect();
    let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.iter().map(|x| if norm > 0.0 { (x / norm) as f32 } else { 0.0 }).collect()
}

/// Adds the number of bits of how often each distinct pair occurs, at the index and with the sign of its hash.
fn counts(text: &str, cancel: &CancelToken) -> Result<[i32; SKETCH_LEN]> {
    let text = match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => text.nfc().collect(),
    };
    let mut hashes = Vec::new();
    for has_words in [true, false] {
        let mut pairs = Pairs { has_words, ..Pairs::default() };
        for (index, c) in text.chars().enumerate() {
            if index % BLOCK == 0 && cancel.is_cancelled() {
                return Err(EmbedError::Cancelled);
            }
            pairs.push(c);
        }
        hashes = pairs.finish();
        if !hashes.is_empty() {
            break;
        }
    }
    let mut counts = [0; SKETCH_LEN];
    for equal in hashes.chunk_by(|a, b| a == b) {
        let bits = (usize::BITS - equal.len().leading_zeros()).cast_signed();
        let (hash, sign) = (equal[0] >> 1, equal[0] & 1);
        let index = usize::try_from(hash % SKETCH_LEN as u64).expect("less than the length");
        counts[index] += if sign == 1 { bits } else { -bits };
    }
    Ok(counts)
}

/// The hashes of the pairs of words of a text that is read character by character.
#[derive(Default)]
struct Pairs {
    /// If not, every character but white space is a word.
    has_words: bool,
    hashes: Vec<u64>,
    previous: Option<Box<str>>,
    word: String,
    /// Characters of `word`.
    length: usize,
}

impl Pairs {
    fn push(&mut self, c: char) {
        use GeneralCategoryGroup::{Letter, Mark, Number};
        let is_part = match c {
            _ if !self.has_words => !c.is_whitespace(),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => true,
            _ => matches!(c.general_category_group(), Letter | Mark | Number),
        };
        if !is_part {
            self.end_word();
        } else if !self.has_words || WITHOUT_SPACES.iter().any(|script| script.contains(&c)) {
            self.end_word();
            self.word.push(c);
            self.end_word();
        } else {
            let free = LONGEST_WORD - self.length;
            for lower in c.to_lowercase().take(free) {
                self.word.push(lower);
                self.length += 1;
            }
        }
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        if let Some(previous) = &self.previous {
            self.hashes.push(hash([previous.as_bytes(), b" ", self.word.as_bytes()]));
        }
        self.previous = Some(self.word.as_str().into());
        self.word.clear();
        self.length = 0;
    }

    /// Returns the hashes in ascending order. A single word stands for itself.
    fn finish(mut self) -> Vec<u64> {
        self.end_word();
        if let (Some(only), []) = (&self.previous, &self.hashes[..]) {
            self.hashes.push(hash([only.as_bytes()]));
        }
        self.hashes.sort_unstable();
        self.hashes
    }
}

/// Returns the FNV-1a hash of the parts together, mixed by the finaliser of SplitMix64.
fn hash<const PARTS: usize>(parts: [&[u8]; PARTS]) -> u64 {
    let fnv = parts.into_iter().flatten().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonzero(text: &str) -> Vec<(usize, i32)> {
        let counts = counts(text, &CancelToken::default()).expect("not cancelled");
        counts.into_iter().enumerate().filter(|&(_, count)| count != 0).collect()
    }

    #[test]
    fn counts_of_distinct_pairs_grow_by_bits() {
        assert_eq!(nonzero(" \n"), []);
        let five = [(22, -1), (30, 2), (46, -1), (253, -1)];
        assert_eq!(nonzero("One, two; ONE two! one_two one-two"), five);
    }

    #[test]
    fn counts_see_32_characters_of_a_word() {
        let long = |length| format!("{} y", "x".repeat(length));
        assert_eq!(nonzero(&long(32)), nonzero(&long(100)));
        assert_ne!(nonzero(&long(31)), nonzero(&long(32)));
    }

    #[test]
    fn counts_take_a_character_of_a_script_without_spaces_as_a_word() {
        for text in ["修复登录", "テスト", "ทดสอบ", "ທົດ", "စမ်း", "សាក"]
        {
            let spaced: Vec<_> = text.chars().map(String::from).collect();
            assert_eq!(nonzero(text), nonzero(&spaced.join(" ")));
        }
    }

    #[test]
    fn counts_are_those_of_normal_form_c() {
        for [composed, decomposed] in [
            [
                "수정 로그인",
                "\u{1109}\u{116e}\u{110c}\u{1165}\u{11bc} \u{1105}\u{1169}\u{1100}\u{1173}\u{110b}\u{1175}\u{11ab}",
            ],
            ["après l'été", "apre\u{300}s l'e\u{301}te\u{301}"],
        ] {
            assert_eq!(nonzero(composed), nonzero(decomposed), "{composed}");
        }
    }

    #[test]
    fn counts_take_every_character_of_a_text_without_words_as_one() {
        assert_eq!(nonzero("?! 🎉"), nonzero("? !\n🎉"));
        assert_ne!(nonzero("?! 🎉"), nonzero("?!"));
        assert_eq!(nonzero("?! fix 🎉 it"), nonzero("fix it"));
    }

    fn sketched(text: &str) -> Embedding {
        sketch(text, &CancelToken::default()).expect("not cancelled")
    }

    #[test]
    fn sketch_ends_when_it_is_cancelled() {
        let cancel = CancelToken::default();
        cancel.cancel();
        assert_eq!(sketch("fix it", &cancel), Err(EmbedError::Cancelled));
    }

    #[test]
    fn sketch_has_length_1_or_0() {
        let squares = |text| sketched(text).iter().map(|x| x * x).sum::<f32>();
        assert!((squares("fix the login bug") - 1.0).abs() < 1e-6);
        assert!((squares("?!") - 1.0).abs() < 1e-6);
        assert!(squares(" \n").abs() < f32::EPSILON);
    }

    #[test]
    fn joined_has_half_of_each_similarity() {
        let of = |x: f32, y: f32, text| joined(&[x, y], &sketched(text));
        let similarity = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        for (a, b, expected) in [
            (of(3.0, 4.0, "fix it"), of(0.3, 0.4, "fix it"), 1.0),
            (of(1.0, 0.0, "fix it"), of(0.0, 1.0, "fix it"), 0.5),
            (of(3.0, 4.0, "fix it"), of(4.0, 3.0, ""), 0.96 * 0.5_f32.sqrt()),
            (of(0.0, 0.0, ""), of(0.0, 0.0, ""), 0.0),
        ] {
            assert!((similarity(&a, &b) - expected).abs() < 1e-6, "{expected}");
        }
    }
}
