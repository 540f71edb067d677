//! JSON, read as traces and scored: the fields are those of the JSON, and the scores those of the oracle.
#![no_main]

use std::fmt;

use knowledgepulse_scoring::{Novelty, Profiles, Score, cache::Nearest};
use knowledgepulse_test_support::{oracle, read_trace};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// A longer id is ignored.
const LONGEST_ID: usize = 1024;

/// Takes a limited number of bytes, and refuses more.
struct Limited {
    text: String,
    room: usize,
    is_full: bool,
}

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        assert!(!self.is_full, "{text:?} was written after a refusal");
        let taken = text.floor_char_boundary(self.room);
        self.text += &text[..taken];
        self.room -= taken;
        self.is_full = taken < text.len();
        if self.is_full { Err(fmt::Error) } else { Ok(()) }
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let mut text = String::new();
    let trace = match read_trace(&value, &mut text) {
        Ok(trace) => trace,
        Err(error) => {
            assert_eq!(error.code(), "INVALID_TRACE", "{error}");
            let path = error.path().expect("the path of a field");
            assert!(error.to_string().starts_with(&format!("{path}: expected ")), "{error}");
            return;
        }
    };

    let id = value.get("id").and_then(Value::as_str).filter(|id| id.len() <= LONGEST_ID);
    assert_eq!(trace.id().map(|id| &**id), id);
    let mut texts = vec![value["task"]["objective"].as_str().expect("a text")];
    let steps = value["steps"].as_array().expect("steps");
    texts.extend(steps.iter().map(|step| step["content"].as_str().unwrap_or_default()));
    assert_eq!(text, texts.join(" "));

    let mut limited = Limited { text: String::new(), room: text.len() * 3 / 4, is_full: false };
    assert_eq!(read_trace(&value, &mut limited).as_ref(), Ok(&trace), "with less of its text");
    assert!(text.starts_with(&limited.text), "{:?}", limited.text);

    let similarity = trace.confidence();
    for (novelty, number) in [
        (Novelty::EmptyCache, 0.5),
        (Novelty::Cache(Nearest { similarity, id: None }), (1.0 - similarity).clamp(0.0, 1.0)),
    ] {
        let found = Score::of(&trace, novelty, &Profiles::default());
        oracle::assert_score(&found, &oracle::score(&value, number, &[]));
    }
});
