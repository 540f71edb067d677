//! The tokenizer of the built model, texts to upset it, and a naive one for ASCII.

use std::{collections::HashMap, fs, sync::LazyLock};

use arbitrary::{Arbitrary, Result, Unstructured};
use knowledgepulse_embedder::{MAX_TOKENS, Tokenizer};
use knowledgepulse_test_support::package_folder;
use serde::Deserialize;

const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// A word of more letters is unknown.
const MAX_WORD: usize = 100;

/// No piece of a word is as long.
const MAX_PIECE: usize = 24;

/// The most characters that a text gets.
const MAX_TEXT: usize = 8_000;

/// What the rules for words, accents, capital sigmas and special tokens turn on.
const AWKWARD: [&str; 32] = [
    " ",
    "\n",
    "\u{a0}",
    "\0",
    "\u{7}",
    "\u{200b}",
    "\u{fffd}",
    "\u{301}",
    "e\u{301}",
    "é",
    "Σ",
    "ΑΣ",
    "σ",
    "İ",
    "ß",
    "ﬁ",
    "\u{37e}",
    "\u{1fef}",
    "漢",
    "\u{20000}",
    "😀",
    "[",
    "]",
    "[SEP]",
    "[CLS]",
    "[sep]",
    "[MASK",
    ".",
    "$",
    "a",
    "B",
    "unaffable",
];

#[derive(Deserialize)]
struct File {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    vocab: HashMap<String, i64>,
}

/// What `tokenizer.json` of the built model says.
static JSON: LazyLock<Vec<u8>> = LazyLock::new(|| {
    fs::read(package_folder().join("model/tokenizer.json")).expect("a tokenizer.json")
});

pub static TOKENIZER: LazyLock<Tokenizer> =
    LazyLock::new(|| Tokenizer::from_json(&JSON, MAX_TOKENS).expect("a tokenizer"));

static VOCABULARY: LazyLock<HashMap<String, i64>> = LazyLock::new(|| {
    let file: File = serde_json::from_slice(&JSON).expect("a tokenizer.json");
    let ascii = file.model.vocab.keys().filter(|token| token.is_ascii());
    assert!(ascii.map(String::len).max() < Some(MAX_PIECE), "pieces are longer");
    file.model.vocab
});

/// The tokens of an ASCII text without the ones around it, `None` for any other text.
pub fn naive(text: &str) -> Option<Vec<i64>> {
    text.is_ascii().then(|| {
        let mut ids = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some(special) = SPECIAL.iter().find(|special| rest.starts_with(*special)) {
                ids.push(VOCABULARY[*special]);
                rest = &rest[special.len()..];
                continue;
            }
            if !is_letter(c) {
                if c.is_ascii_punctuation() {
                    pieces(&c.to_string(), &mut ids);
                }
                rest = &rest[1..];
                continue;
            }
            // Control characters leave no gap.
            let end = rest.find(|c| !is_letter(c) && !is_dropped(c)).unwrap_or(rest.len());
            let word: String = rest[..end].chars().filter(|c| !is_dropped(*c)).collect();
            pieces(&word.to_ascii_lowercase(), &mut ids);
            rest = &rest[end..];
        }
        ids
    })
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

fn is_dropped(c: char) -> bool {
    c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r')
}

/// The longest known beginning of a word, then of what is left of it.
fn pieces(word: &str, ids: &mut Vec<i64>) {
    let mut found = Vec::new();
    let mut start = 0;
    while start < word.len() && word.len() <= MAX_WORD {
        let prefix = if start > 0 { "##" } else { "" };
        let piece = |end: usize| VOCABULARY.get(&format!("{prefix}{}", &word[start..end]));
        let longest = word.len().min(start + MAX_PIECE);
        match (start + 1..=longest).rev().find_map(|end| Some((end, piece(end)?))) {
            Some((end, id)) => {
                found.push(*id);
                start = end;
            }
            None => break,
        }
    }
    if start < word.len() {
        found = vec![VOCABULARY["[UNK]"]];
    }
    ids.extend(found);
}

/// A text in pieces, out of the fuzzer's bytes.
pub fn text(bytes: &mut Unstructured) -> Result<Vec<String>> {
    let mut texts: Vec<String> = Vec::new();
    let mut length = 0;
    while !bytes.is_empty() && length < MAX_TEXT {
        let text = match u8::arbitrary(bytes)? {
            0..=63 => <&str>::arbitrary(bytes)?.to_owned(),
            64..=191 => (*bytes.choose(&AWKWARD)?).to_owned(),
            192..=207 => char::arbitrary(bytes)?.to_string(),
            // Some of what came last once more, up to where the window ends and further.
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
