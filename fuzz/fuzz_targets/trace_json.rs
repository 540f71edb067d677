//! JSON texts, read as traces and scored.
#![no_main]

use knowledgepulse_scoring::{embedder::LongText, trace::Trace};
use knowledgepulse_scoring_fuzz::{
    reading::{self, NAMES},
    scoring,
    value::Value,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(json) = serde_json::from_slice(data) else { return };
    let value = Value::from_json(&json, &NAMES);
    for long in [LongText::Window, LongText::Whole] {
        match (Trace::from_json_with(&json, long), reading::expect(&value).0) {
            (Ok(trace), Ok(plain)) => {
                reading::compare(&trace, &plain, long);
                scoring::check(&trace, &plain, plain.confidence, &Vec::new());
            }
            // How the numbers of JSON are shown is a matter of its own.
            (Err(error), Err(refusal)) => reading::refused(&error, &refusal),
            (found, expected) => panic!("{found:?} for {expected:?}"),
        }
    }
});
