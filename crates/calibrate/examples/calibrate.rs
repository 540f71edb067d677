//! The calibration of a file of rows, as JSON.
//!
//! `cargo run --release -p knowledgepulse-calibrate --example calibrate -- rows.jsonl '{ "target": { "share": 0.2 } }'`

use std::{
    error::Error,
    fs::read_to_string,
    io::{Write, stdout},
};

use knowledgepulse_calibrate::{Options, Row, calibrate, read_json};
use knowledgepulse_scoring::Invalid;
use knowledgepulse_workers::CancelToken;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, options) = match &arguments[..] {
        [file] => (file, Options::default()),
        [file, options] => (file, read_json(options, Invalid::Option, "")?),
        _ => return Err("usage: calibrate ROWS.jsonl [OPTIONS]".into()),
    };
    let rows = Row::from_json_lines(&read_to_string(file)?)?;
    let calibration = calibrate(&rows, &options, &CancelToken::default())?;
    writeln!(stdout(), "{}", serde_json::to_string_pretty(&calibration)?)?;
    Ok(())
}
