//! Prints the token ids of texts: JSON strings, one a line, on standard input. A window has 512 tokens. The tokenizer is
//! the vocabulary of the built-in model, or the `tokenizer.json` of another one.
//!
//! `cargo run -p knowledgepulse-embedder --example tokenize -- npm/linux-x64-gnu/model/vocabulary.bin < texts`

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    io::{Write as _, stdin, stdout},
};

use knowledgepulse_embedder::{MAX_TOKENS, ModelSettings, PackageFolder, TextBuffer, Tokenizer};
use knowledgepulse_workers::CancelToken;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [path] = &arguments[..] else { return Err("usage: tokenize FILE < TEXTS".into()) };
    let (file, is_built_in) = (fs::read(path)?, path.ends_with(".bin"));
    let tokenizer = match is_built_in {
        true => Tokenizer::built_in(&file)?,
        false => Tokenizer::from_json(&file, MAX_TOKENS)?,
    };
    for line in stdin().lines() {
        let mut text: String = serde_json::from_str(&line?)?;
        if is_built_in {
            let settings = ModelSettings::of(PackageFolder::of_addon());
            let mut buffer = TextBuffer::new(&settings);
            // Fails when the window is full.
            let _ = buffer.write_str(&text);
            text = buffer.into_string();
        }
        let (ids, _) = tokenizer.encode(&text, &CancelToken::default())?;
        writeln!(stdout(), "{}", serde_json::to_string(&ids)?)?;
    }
    Ok(())
}
