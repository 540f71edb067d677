//! The tokens of a window, of windows, and of the whole text.
#![no_main]

use std::fmt::Write;

use arbitrary::Unstructured;
use knowledgepulse_embedder::{LongText, MAX_TOKENS, ModelSettings, TextBuffer};
use knowledgepulse_scoring_fuzz::tokens::{self, TOKENIZER};
use knowledgepulse_workers::CancelToken;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(pieces) = tokens::text(&mut Unstructured::new(data)) else { return };
    let whole = pieces.concat();

    let buffer = TextBuffer::new(LongText::Window, &ModelSettings::beside("".as_ref()));
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
    let encode = |text: &str| TOKENIZER.encode(text, LongText::Window, &never).expect("tokens");
    let first_window = encode(&whole);
    assert_eq!(encode(&kept), first_window, "{whole:?}");
    let ([ids], is_cut) = (&first_window.0[..], first_window.1) else { panic!("{first_window:?}") };

    let (windows, _) = TOKENIZER.encode(&whole, LongText::Whole, &never).expect("tokens");
    let empty = encode("").0.remove(0);
    let [cls, sep] = empty[..] else { panic!("{empty:?} for no text") };
    let mut all = Vec::new();
    for (at, window) in windows.iter().enumerate() {
        let [first, tokens @ .., last] = &window[..] else { panic!("a window of {window:?}") };
        assert_eq!((*first, *last), (cls, sep));
        assert!(window.len() == MAX_TOKENS || window.len() < MAX_TOKENS && at + 1 == windows.len());
        assert!(!tokens.is_empty() || windows.len() == 1, "an empty window");
        all.extend_from_slice(tokens);
    }
    let mut first: Vec<_> = [&[cls], &all[..], &[sep]].concat();
    first.truncate(MAX_TOKENS);
    assert_eq!(*ids, first, "the first window of {whole:?}");
    assert_eq!(is_cut, 1 + all.len() > MAX_TOKENS, "{} tokens", all.len());
    if let Some(expected) = tokens::naive(&whole) {
        assert_eq!(all, expected, "{whole:?}");
    }
});
