//! The tokenizer on the published vocabulary, and the text buffer before it.

use std::{fmt::Write, fs, sync::LazyLock};

use knowledgepulse_embedder::{MAX_TOKENS, ModelSettings, PackageFolder, TextBuffer, Tokenizer};
use knowledgepulse_test_support::{package_folder, published_tokenizer, repeats};
use knowledgepulse_workers::CancelToken;
use proptest::prelude::*;

/// The tokenizer of the model that was built for this machine.
static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
    let file = fs::read(package_folder().join("model/vocabulary.bin")).expect("vocabulary.bin");
    Tokenizer::built_in(&file).expect("a tokenizer")
});

/// The published tokenizer, by the crate `tokenizers`.
static REFERENCE: LazyLock<Tokenizer> = LazyLock::new(|| {
    Tokenizer::from_json(&published_tokenizer(), MAX_TOKENS).expect("a tokenizer")
});

/// The ids of the window of a text, and whether it is cut.
fn encode(text: &str) -> (Vec<i64>, bool) {
    TOKENIZER.encode(text, &CancelToken::default()).expect("tokens")
}

/// The ids of the window of a text.
fn ids(text: &str) -> Vec<i64> {
    encode(text).0
}

/// The ids of the window of a text by the published tokenizer.
fn reference(text: &str) -> Vec<i64> {
    REFERENCE.encode(text, &CancelToken::default()).expect("tokens").0
}

/// Writes the pieces of a text to a buffer and returns what it keeps.
fn kept(pieces: &[&str]) -> String {
    let settings = ModelSettings::of(PackageFolder::of_addon());
    let mut buffer = TextBuffer::new(&settings);
    for piece in pieces {
        // Fails when the window is full.
        let _ = buffer.write_str(piece);
    }
    buffer.into_string()
}

#[test]
fn encode_gives_the_published_tokens() {
    for (text, expected) in [
        ("", &[101, 102][..]),
        (" \n\t ", &[101, 102]),
        ("Hello, world!", &[101, 7592, 1010, 2088, 999, 102]),
        ("naïve café", &[101, 15743, 7668, 102]),
        ("unaffable", &[101, 14477, 20961, 3468, 102]),
        ("a[SEP]b[sep]", &[101, 1037, 102, 1038, 1031, 19802, 1033, 102]),
        ("中文", &[101, 1746, 1861, 102]),
        ("\u{fffd}\u{200b}\u{7}", &[101, 102]),
    ] {
        assert_eq!(ids(text), expected, "{text:?}");
    }
}

#[test]
fn encode_cuts_a_text_that_does_not_fit_and_ends_a_full_window_without_separator() {
    for (words, is_cut, has_separator) in [
        (509, false, true),
        (510, false, true),
        (511, false, false),
        (512, true, false),
        (600, true, false),
    ] {
        let (ids, found) = encode(&"word ".repeat(words));
        assert_eq!(found, is_cut, "{words} words");
        assert_eq!(ids.len(), (words + 2).min(MAX_TOKENS), "{words} words");
        assert_eq!(ids.last() == Some(&102), has_separator, "{words} words");
    }
}

#[test]
fn tokens_are_those_of_the_window_and_what_follows() {
    for words in [0, 1, 509, 510, 511, 1020, 5000] {
        let text = (0..words).map(|word| format!("{} ", word % 10)).collect::<String>();
        let digit = |word: usize| ids(&(word % 10).to_string())[1];
        let expected: Vec<_> = (0..words).map(digit).collect();
        let found = TOKENIZER.tokens(&text, usize::MAX, &CancelToken::default());
        assert_eq!(found, Ok(expected), "{words} words");
    }
}

#[test]
fn tokens_stops_after_a_cancellation() {
    let cancel = CancelToken::default();
    cancel.cancel();
    let text = "word ".repeat(10_000);
    assert!(TOKENIZER.tokens(&text, usize::MAX, &cancel).expect("tokens").len() < MAX_TOKENS);
}

#[test]
fn encode_takes_words_of_more_than_a_hundred_letters_for_unknown() {
    assert_ne!(ids(&"a".repeat(100)), [101, 100, 102]);
    assert_eq!(ids(&"a".repeat(101)), [101, 100, 102]);
}

#[test]
fn text_buffer_keeps_little_of_long_texts() {
    let megabytes = |piece: &str| piece.repeat(4_000_000 / piece.len());
    for (what, text, most) in [
        ("words", megabytes("one word after another "), 4_000),
        ("JSON", megabytes(r#"{"key":"a value","list":[1,2,3]}"#), 4_000),
        ("special tokens", megabytes("[SEP] "), 4_000),
        ("Chinese", megabytes("中文"), 1_536),
        ("Cyrillic", megabytes("слово за словом "), 2 << 20),
        ("one word", megabytes("a"), 2 << 20),
        ("spaces", megabytes(" "), 2 << 20),
    ] {
        let kept = kept(&[&text]);
        assert!(kept.len() <= most, "{what}: {} bytes", kept.len());
        assert_eq!(ids(&kept), ids(&text), "{what}");
    }
}

/// Generates texts with difficult cases for the buffer: marks, brackets, sigmas, endless words. Each is repeated less than
/// `times` times.
fn awkward(times: usize) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-zA-Z0-9]{1,12}",
        4 => "[ \t\n]{1,3}",
        2 => "[.,:;'!?(){}]{1,3}",
        2 => prop::sample::select(vec![
            "[SEP]", "[CLS]", "[MASK]", "[UNK]", "[PAD]", "[", "]", "[SE", "CLS]", "[[", "[sep]",
        ])
        .prop_map(String::from),
        2 => prop::sample::select(vec![
            "Σ", "ΑΣ", "Σ'", "σΣ.", "ΌΣΟΣ", "İ", "ß", "ﬁ", "é", "e\u{301}", "\u{301}", "≠", "≮",
            "\u{1fef}", "중", "中", "㐀", "𠀀", "豈", "क्षि", "🦀", "👩\u{200d}🔬", "\u{200b}", "\u{0}",
            "\u{ad}", "\u{feff}", "\u{fffd}", "ʰ", "…", "。", "\u{2028}", "\u{85}",
        ])
        .prop_map(String::from),
        1 => any::<char>().prop_map(String::from),
        1 => (1_usize..400).prop_map(|n| "x".repeat(n)),
        1 => (1_usize..400).prop_map(|n| "Ω".repeat(n)),
    ];
    (prop::collection::vec(piece, 0..60), 1..times)
        .prop_map(|(pieces, times)| pieces.concat().repeat(times))
}

/// Repeated less often than this, texts have up to several times the tokens of the window.
const BEYOND_THE_WINDOW: usize = 12;

#[test]
fn built_in_refuses_other_layouts() {
    let file = fs::read(package_folder().join("model/vocabulary.bin")).expect("vocabulary.bin");
    for len in (0..file.len()).step_by(file.len() / 100).chain([file.len() - 1]) {
        assert!(Tokenizer::built_in(&file[..len]).is_err(), "{len} bytes");
    }
    for (at, byte) in [(0, 0), (3, 255), (11, 255), (130_000, 255), (file.len() / 2, 255)] {
        let mut changed = file.clone();
        changed[at] ^= byte | 1;
        // Some changes only make other words of it.
        if let Ok(tokenizer) = Tokenizer::built_in(&changed) {
            let text = "some words, zzz";
            let _ = tokenizer.encode(text, &CancelToken::default());
        }
    }
}

#[test]
fn built_in_gives_each_word_of_the_vocabulary_the_published_tokens() {
    let json: serde_json::Value = serde_json::from_slice(&published_tokenizer()).expect("JSON");
    let words = json["model"]["vocab"].as_object().expect("a vocabulary");
    assert_eq!(words.len(), 30_522);
    for word in words.keys() {
        let piece = word.trim_start_matches('#');
        for text in [word.clone(), format!("{piece}{piece}"), format!("un{piece}ing {piece}s")] {
            assert_eq!(ids(&text), reference(&text), "{text}");
        }
    }
}

#[test]
fn built_in_gives_the_published_tokens_around_every_code_point() {
    let all: Vec<char> = (char::MIN..=char::MAX).collect();
    // Few enough that a text fits the window.
    for some in all.chunks(20).step_by((25 / repeats(1)).max(1)) {
        // Alone, within a word, before a mark, and around a sigma, whose lower case depends on it.
        let around = |c| format!("{c} a{c}b {c}\u{301} a\u{3a3}{c} a\u{3a3}{c}b {c}\u{3a3} ");
        let text: String = some.iter().map(around).collect();
        assert_eq!(ids(&kept(&[&text])), reference(&text), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(repeats(2000) as u32))]

    #[test]
    fn built_in_gives_the_tokens_of_the_published_tokenizer(text in awkward(3)) {
        prop_assert_eq!(ids(&text), reference(&text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn text_buffer_keeps_all_tokens_of_the_window(text in awkward(BEYOND_THE_WINDOW)) {
        prop_assert_eq!(ids(&kept(&[&text])), ids(&text));
    }

    #[test]
    fn text_buffer_keeps_the_same_of_pieces(text in awkward(BEYOND_THE_WINDOW)) {
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        prop_assert_eq!(kept(&letters), kept(&[&text]));
    }
}
