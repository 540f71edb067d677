//! Embeddings of texts: a JSON string a line in, a JSON array of 384 numbers a line out.
//!
//! `cargo run --release -p knowledgepulse-embedder --example embed -- FOLDER exact|fast < texts`
//!
//! FOLDER is that of a platform, such as `npm/linux-x64-gnu`.

use std::{
    error::Error,
    io::{Write, stdin, stdout},
};

use knowledgepulse_embedder::{LongText, ModelSettings, Precision, SharedModel};
use knowledgepulse_workers::CancelToken;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, precision] = &arguments[..] else {
        return Err("usage: embed FOLDER exact|fast".into());
    };
    let precision = match precision.as_str() {
        "exact" => Precision::Exact,
        "fast" => Precision::Fast,
        other => return Err(format!("no precision is called {other:?}").into()),
    };
    let settings = ModelSettings { precision, ..ModelSettings::beside(folder.as_ref()) };
    let embedder = SharedModel::with(settings).get()?;
    for line in stdin().lines() {
        let text: String = serde_json::from_str(&line?)?;
        let embedded = embedder.embed(&text, LongText::Window, &CancelToken::default())?;
        writeln!(stdout(), "{}", serde_json::to_string(&embedded.embedding[..])?)?;
    }
    Ok(())
}
