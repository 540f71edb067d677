//! Prints the token ids of texts: JSON strings, one a line, on standard input.
//!
//! `cargo run -p knowledgepulse-embedder --example tokenize -- npm/linux-x64-gnu/model/tokenizer.json < texts`

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    io::{Write as _, stdin, stdout},
};

use knowledgepulse_embedder::{TextWindow, Tokenizer};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("usage: tokenize TOKENIZER_JSON < TEXTS")?;
    let tokenizer = Tokenizer::from_json(&fs::read(path)?)?;
    for line in stdin().lines() {
        let text: String = serde_json::from_str(&line?)?;
        let mut window = TextWindow::default();
        // Fails when the window is full.
        let _ = window.write_str(&text);
        writeln!(
            stdout(),
            "{}",
            serde_json::to_string(&tokenizer.encode_window(&window.into_string()).0)?
        )?;
    }
    Ok(())
}
