//! The tokens of a window and of the whole text, written in pieces and at once.
#![no_main]

use std::{fmt::Write, fs, sync::LazyLock};

use arbitrary::{Arbitrary, Result, Unstructured};
use knowledgepulse_embedder::{MAX_TOKENS, ModelSettings, PackageFolder, TextBuffer, Tokenizer};
use knowledgepulse_test_support::package_folder;
use knowledgepulse_workers::CancelToken;
use libfuzzer_sys::fuzz_target;

/// The most characters that a text gets.
const MAX_TEXT: usize = 8_000;

/// Pieces that exercise the rules for words, accents, capital sigmas and special tokens.
const AWKWARD: [&str; 32] = [
    " ", "\n", "\u{a0}", "\0", "\u{7}", "\u{200b}", "\u{fffd}", "\u{301}", "e\u{301}", "é", "Σ",
    "ΑΣ", "σ", "İ", "ß", "ﬁ", "\u{37e}", "\u{1fef}", "漢", "𠀀", "😀", "[", "]", "[SEP]", "[CLS]",
    "[sep]", "[MASK", ".", "$", "a", "B", "affably",
];

/// The tokenizer of the built model.
static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
    let file = fs::read(package_folder().join("model/vocabulary.bin")).expect("vocabulary.bin");
    Tokenizer::built_in(&file).expect("a tokenizer")
});

/// A text in pieces, out of the fuzzer's bytes.
fn text(bytes: &mut Unstructured) -> Result<Vec<String>> {
    let mut texts: Vec<String> = Vec::new();
    let mut length = 0;
    while !bytes.is_empty() && length < MAX_TEXT {
        let text = match u8::arbitrary(bytes)? {
            0..=63 => <&str>::arbitrary(bytes)?.to_owned(),
            64..=191 => (*bytes.choose(&AWKWARD)?).to_owned(),
            192..=207 => char::arbitrary(bytes)?.to_string(),
            // Repeats some of the last pieces, up to the end of the window and beyond.
            _ => {
                let last = bytes.int_in_range(1..=4)?.min(texts.len());
                let pattern = texts[texts.len() - last..].concat();
                let most = MAX_TEXT / pattern.len().max(1);
                pattern.repeat(usize::from(u16::arbitrary(bytes)? % 700).min(most))
            }
        };
        length += text.len();
        texts.push(text);
    }
    Ok(texts)
}

fuzz_target!(|data: &[u8]| {
    let Ok(pieces) = text(&mut Unstructured::new(data)) else { return };
    let whole = pieces.concat();

    let buffer = TextBuffer::new(&ModelSettings::of(PackageFolder::of_addon()));
    let (mut in_pieces, mut at_once) = (buffer.clone(), buffer);
    let mut is_full = false;
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        let has_room = in_pieces.write_str(piece).is_ok();
        assert!(!(is_full && has_room), "a full buffer took more");
        is_full = !has_room;
    }
    assert_eq!(at_once.write_str(&whole).is_err(), is_full, "in pieces and at once");
    let kept = in_pieces.into_string();
    assert_eq!(at_once.into_string(), kept, "in pieces and at once");
    assert!(kept.len() <= whole.len());

    let never = CancelToken::default();
    let encode = |text: &str| TOKENIZER.encode(text, &never).expect("tokens");
    let first_window = encode(&whole);
    assert_eq!(encode(&kept), first_window, "{whole:?}");
    let (ids, is_cut) = first_window;

    let (empty, _) = encode("");
    let [cls, sep] = empty[..] else { panic!("{empty:?} for no text") };
    let all = TOKENIZER.tokens(&whole, usize::MAX, &never).expect("tokens");
    let mut first: Vec<_> = [&[cls], &all[..], &[sep]].concat();
    first.truncate(MAX_TOKENS);
    assert_eq!(ids, first, "the first window of {whole:?}");
    assert_eq!(is_cut, 1 + all.len() > MAX_TOKENS, "{} tokens", all.len());
});
