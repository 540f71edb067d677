//! The tokenizer on the longest real trace and on longer texts: `cargo bench`.
//!
//! The real trace is read from `../shared/traces`; where that is missing, a made-up text of the same
//! length takes its place.

use std::{fmt::Write, fs, path::Path, sync::LazyLock};

use divan::{Bencher, black_box};
use knowledgepulse_embedder::{LongText, MAX_TOKENS, ModelSettings, TextBuffer, Tokenizer};
use knowledgepulse_test_support::package_folder;
use knowledgepulse_workers::CancelToken;

fn main() {
    divan::main();
}

fn new_tokenizer() -> Tokenizer {
    let json = fs::read(package_folder().join("model/tokenizer.json")).expect("tokenizer.json");
    Tokenizer::from_json(&json, MAX_TOKENS).expect("a tokenizer")
}

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(new_tokenizer);

fn ids(text: &str) -> Vec<i64> {
    TOKENIZER.encode(text, LongText::Window, &CancelToken::default()).expect("tokens").0.remove(0)
}

/// Objective and contents of the longest software trace, 33,000 characters.
static LONGEST: LazyLock<String> = LazyLock::new(|| {
    let traces = "../../../shared/traces/software.jsonl";
    let lines = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(traces));
    let texts = lines.iter().flat_map(|lines| lines.lines()).map(|line| {
        let trace: serde_json::Value = serde_json::from_str(line).expect("a trace");
        let contents = trace["steps"].as_array().into_iter().flatten();
        let contents = contents.filter_map(|step| step["content"].as_str());
        let parts: Vec<_> =
            trace["task"]["objective"].as_str().into_iter().chain(contents).collect();
        parts.join(" ")
    });
    texts.max_by_key(String::len).unwrap_or_else(|| "def main(): return 42\n".repeat(1_500))
});

fn kept(text: &str) -> String {
    let settings = ModelSettings::beside("".as_ref());
    let mut buffer = TextBuffer::new(LongText::Window, &settings);
    // Fails when the window is full.
    let _ = buffer.write_str(text);
    buffer.into_string()
}

#[divan::bench]
fn longest_software_trace(bencher: Bencher) {
    assert_eq!(ids(&LONGEST).len(), MAX_TOKENS);
    bencher.bench(|| ids(&kept(black_box(&LONGEST))));
}

#[divan::bench]
fn first_sight_of_the_longest_software_trace(bencher: Bencher) {
    // A tokenizer of its own each time: none of the words is known yet.
    bencher.with_inputs(new_tokenizer).bench_refs(|tokenizer| {
        let text = kept(black_box(&LONGEST));
        tokenizer.encode(&text, LongText::Window, &CancelToken::default())
    });
}

#[divan::bench]
fn ten_megabytes(bencher: Bencher) {
    let text = LONGEST.repeat(10_000_000 / LONGEST.len() + 1);
    assert_eq!(ids(&kept(&text)), ids(&LONGEST));
    bencher.bench(|| ids(&kept(black_box(&text))));
}
