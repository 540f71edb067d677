//! Prints the token ids of texts: JSON strings, one a line, on standard input. Windows have 512 tokens. With
//! `--own`, the tokenizer is that of another model than the built-in one.
//!
//! `cargo run -p knowledgepulse-embedder --example tokenize -- npm/linux-x64-gnu/model/tokenizer.json < texts`

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    io::{Write as _, stdin, stdout},
};

use knowledgepulse_embedder::{
    LongText, MAX_TOKENS, ModelSettings, PackageFolder, TextBuffer, Tokenizer,
};
use knowledgepulse_workers::CancelToken;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (path, is_built_in) = match &arguments[..] {
        [path] => (path, true),
        [path, own] if own == "--own" => (path, false),
        _ => return Err("usage: tokenize TOKENIZER_JSON [--own] < TEXTS".into()),
    };
    let tokenizer = Tokenizer::from_json(&fs::read(path)?, MAX_TOKENS)?;
    for line in stdin().lines() {
        let mut text: String = serde_json::from_str(&line?)?;
        if is_built_in {
            let settings = ModelSettings::of(PackageFolder::of_addon());
            let mut buffer = TextBuffer::new(LongText::Window, &settings);
            // Fails when the window is full.
            let _ = buffer.write_str(&text);
            text = buffer.into_string();
        }
        let (windows, _) = tokenizer.encode(&text, LongText::Window, &CancelToken::default())?;
        writeln!(stdout(), "{}", serde_json::to_string(&windows[0])?)?;
    }
    Ok(())
}
