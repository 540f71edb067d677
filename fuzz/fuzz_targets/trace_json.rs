//! JSON, read as traces and scored: texts, and values that are nearly traces.
#![no_main]

use arbitrary::Unstructured;
use knowledgepulse_scoring_fuzz::{
    generate::Generator,
    reading::{self, NAMES},
    scoring,
    value::Value,
};
use knowledgepulse_test_support::read_trace;
use libfuzzer_sys::fuzz_target;

/// The bytes as JSON, or what the generator makes of them.
fn json(data: &[u8]) -> Option<serde_json::Value> {
    serde_json::from_slice(data).ok().or_else(|| {
        let mut bytes = Unstructured::new(data);
        Generator::new(&mut bytes).trace().ok()?.to_json()
    })
}

fuzz_target!(|data: &[u8]| {
    let Some(json) = json(data) else { return };
    let value = Value::from_json(&json, &NAMES);
    let mut text = String::new();
    match (read_trace(&json, &mut text), reading::expect(&value).0) {
        (Ok(trace), Ok(plain)) => {
            reading::compare(&trace, &text, &plain);
            scoring::check(&trace, &plain, trace.confidence(), &[]);
        }
        // How the numbers of JSON are shown is a matter of its own.
        (Err(error), Err(refusal)) => reading::refused(&error, &refusal),
        (found, expected) => panic!("{found:?} for {expected:?}"),
    }
});
