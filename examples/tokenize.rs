//! Prints the token ids of texts: JSON strings, one a line, on standard input.
//!
//! `cargo run --example tokenize -- npm/linux-x64-gnu/model/tokenizer.json < texts.jsonl`

use std::{env, error::Error, fs, io};

use knowledgepulse_scoring::embedder::{TextWindow, Tokenizer};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("usage: tokenize TOKENIZER_JSON < TEXTS")?;
    let tokenizer = Tokenizer::from_json(&fs::read(path)?)?;
    for line in io::stdin().lines() {
        let text: String = serde_json::from_str(&line?)?;
        let mut window = TextWindow::new();
        window.push(&text);
        println!("{}", serde_json::to_string(&tokenizer.encode(window.as_str()))?);
    }
    Ok(())
}
