//! The tokenizer on the longest real trace and on longer texts: `cargo bench`.
//!
//! The real trace is read from `../shared/traces`; where that is missing, a made-up text of the same
//! length takes its place.

use std::{env, fs, path::PathBuf, sync::LazyLock};

use divan::{Bencher, black_box};
use knowledgepulse_scoring::embedder::{MAX_TOKENS, TextWindow, Tokenizer};

fn main() {
    divan::main();
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn new_tokenizer() -> Tokenizer {
    let mut packages = fs::read_dir(root().join("npm")).expect("npm/").flatten();
    let json = packages
        .find_map(|package| fs::read(package.path().join("model/tokenizer.json")).ok())
        .expect("a model in npm/: `node scripts/prepare.mjs` builds it");
    Tokenizer::from_json(&json).expect("a tokenizer")
}

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(new_tokenizer);

/// Objective and contents of the longest software trace, 33,000 characters.
static LONGEST: LazyLock<String> = LazyLock::new(|| {
    let lines = fs::read_to_string(root().join("../shared/traces/software.jsonl"));
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

fn window(text: &str) -> TextWindow {
    let mut window = TextWindow::new();
    window.push(text);
    window
}

#[divan::bench]
fn longest_software_trace(bencher: Bencher) {
    assert_eq!(TOKENIZER.encode(&LONGEST).len(), MAX_TOKENS);
    bencher.bench(|| TOKENIZER.encode(window(black_box(&LONGEST)).as_str()));
}

#[divan::bench]
fn first_sight_of_the_longest_software_trace(bencher: Bencher) {
    // A tokenizer of its own each time: none of the words is known yet.
    bencher
        .with_inputs(new_tokenizer)
        .bench_refs(|tokenizer| tokenizer.encode(window(black_box(&LONGEST)).as_str()));
}

#[divan::bench]
fn ten_megabytes(bencher: Bencher) {
    let text = LONGEST.repeat(10_000_000 / LONGEST.len() + 1);
    assert_eq!(TOKENIZER.encode(window(&text).as_str()), TOKENIZER.encode(&LONGEST));
    bencher.bench(|| TOKENIZER.encode(window(black_box(&text)).as_str()));
}
