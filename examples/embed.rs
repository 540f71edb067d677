//! Embeddings of texts: a JSON string a line in, a JSON array of 384 numbers a line out.
//!
//! `cargo run --release --example embed -- FOLDER exact|fast|fast-unsigned < texts > embeddings`
//!
//! FOLDER is that of a platform, such as `npm/linux-x64-gnu`. `fast-unsigned` computes what `fast` does
//! on a processor with AVX2 and nothing newer, bit for bit, so that it can be measured on any.

use std::{
    error::Error,
    io::{Write, stdin, stdout},
    path::Path,
    thread,
};

use knowledgepulse_scoring::embedder::{
    CancelToken, Embedder, Mode, Precision, Runtime, Settings, Text, kernels, library_file_name,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, precision] = &arguments[..] else {
        return Err("usage: embed FOLDER exact|fast|fast-unsigned".into());
    };
    let precision = match precision.as_str() {
        "exact" => Precision::Exact,
        "fast" => Precision::Fast,
        "fast-unsigned" => {
            kernels::limit_to_avx2();
            Precision::FastUnsigned
        }
        other => return Err(format!("no precision is called {other:?}").into()),
    };
    let folder = Path::new(folder);
    let embedder = Embedder::load(&Settings {
        mode: Mode::Required,
        model_dir: folder.join("model"),
        runtime: Runtime::OnnxRuntime,
        library: folder.join(library_file_name()),
        precision,
        threads: thread::available_parallelism()?.get(),
    })?;
    for line in stdin().lines() {
        let text: String = serde_json::from_str(&line?)?;
        let mut window = Text::default();
        window.push(&text);
        let embedded = embedder.embed(&window, &CancelToken::default())?;
        writeln!(stdout(), "{}", serde_json::to_string(&embedded.embedding[..])?)?;
    }
    Ok(())
}
