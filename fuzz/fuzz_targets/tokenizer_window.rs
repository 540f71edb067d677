//! The tokens of a window, of windows, and of the whole text.
#![no_main]

use arbitrary::Unstructured;
use knowledgepulse_scoring::embedder::{CancelToken, MAX_TOKENS, TextWindow};
use knowledgepulse_scoring_fuzz::tokens::{self, TOKENIZER};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(pieces) = tokens::text(&mut Unstructured::new(data)) else { return };
    let whole = pieces.concat();

    let mut window = TextWindow::new();
    for piece in &pieces {
        let (full, kept) = (window.is_full(), window.as_str().len());
        window.push(piece);
        assert!(!full || window.as_str().len() == kept, "a full window took more");
    }
    let mut at_once = TextWindow::new();
    at_once.push(&whole);
    assert_eq!(at_once.as_str(), window.as_str(), "in pieces and at once");
    assert!(window.as_str().len() <= whole.len());

    let (ids, is_cut) = TOKENIZER.encode_window(&whole);
    assert_eq!(TOKENIZER.encode_window(window.as_str()), (ids.clone(), is_cut), "{whole:?}");

    let windows = TOKENIZER.encode_windows(&whole, &CancelToken::default());
    let empty = TOKENIZER.encode("");
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
    assert_eq!(ids, first, "the first window of {whole:?}");
    assert_eq!(is_cut, 1 + all.len() > MAX_TOKENS, "{} tokens", all.len());
    if let Some(expected) = tokens::naive(&whole) {
        assert_eq!(all, expected, "{whole:?}");
    }
});
