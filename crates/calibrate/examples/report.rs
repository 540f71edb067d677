//! Writes the report of rows to standard output: `report ROWS.jsonl [OPTIONS] [CONTEXT]`, both in JSON.

use std::{
    error::Error,
    fs::read_to_string,
    io::{Write, stdout},
};

use knowledgepulse_calibrate::{
    Options, Row, calibrate,
    report::{self, Context},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: report ROWS.jsonl [OPTIONS] [CONTEXT]")?;
    let options = Options::from_json(arguments.next().as_deref().unwrap_or("{}"))?;
    let context = Context::from_json(arguments.next().as_deref().unwrap_or("{}"))?;
    let rows = Row::from_json_lines(&read_to_string(file)?)?;
    let calibration = calibrate(&rows, &options)?;
    stdout().write_all(report::html(&calibration, &rows, &context)?.as_bytes())?;
    Ok(())
}
