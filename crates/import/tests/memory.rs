//! The memory that an import takes, for lines that are made of very small values.

use std::{collections::BTreeSet, mem};

use knowledgepulse_import::Importer;
use knowledgepulse_test_support::{importing, memory};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// How many bytes the value in a line has.
const BYTES: usize = 64 << 10;

/// How many bytes an import asks for, for each of a line, at most. It uses fewer: what grows has room to spare.
const RATIO: usize = 7;

/// What an import takes for any line: lists double while they are small.
const FIXED: usize = 72 << 10;

/// Where a log has the value.
const VALUE: &str = "\"?\"";

/// A value that a list is not replaced by: each of its elements may be a call or a message, which takes more.
const OBJECTS: &str = "objects";

/// Values of many small ones.
fn values() -> Vec<(&'static str, String)> {
    let list = |element: &str| {
        let elements = vec![element; BYTES / (element.len() + 1)];
        format!("[{}]", elements.join(","))
    };
    let keys: Vec<_> = (0..BYTES / 12).map(|index| format!("\"k{index:07}\":0")).collect();
    vec![
        (OBJECTS, list(r#"{"":0}"#)),
        ("numbers", list("0")),
        ("nested arrays", list(&("[".repeat(100) + &"]".repeat(100)))),
        ("names", format!("{{{}}}", keys.join(","))),
        ("escapes", format!("\"{}\"", "\\n".repeat(BYTES / 2))),
    ]
}

/// A log with [`VALUE`] in one place.
struct Log {
    name: String,
    text: String,
    /// Whether a list was there, or belongs there.
    was_list: bool,
}

/// Returns the written logs, once for each path in those of a folder.
fn logs() -> Vec<Log> {
    let mut logs = Vec::new();
    let mut seen = BTreeSet::new();
    for (folder, file, records) in importing::written() {
        for (index, record) in records.iter().enumerate() {
            // The last element of a list stands for all.
            for (pointer, path) in importing::places(record).into_iter().rev() {
                if seen.insert((folder.clone(), path)) {
                    let mut changed = records.clone();
                    let place = changed[index].pointer_mut(&pointer).unwrap();
                    let replaced = mem::replace(place, "?".into());
                    let was_list = replaced.is_array()
                        || replaced.as_str().is_some_and(|text| text.starts_with('['))
                        || pointer.ends_with("Calls");
                    let text = changed.iter().map(|record| format!("{record}\n")).collect();
                    let name = format!("{}:{index}{pointer}", file.display());
                    logs.push(Log { name, text, was_list });
                }
            }
        }
    }
    logs
}

/// Imports logs with a value in their place. Returns those that take too much.
fn exceeding(logs: &[Log], what: &str, value: &str) -> Vec<String> {
    let logs = logs.iter().filter(|log| !log.was_list || what != OBJECTS);
    let exceeds = |Log { name, text, .. }: &Log| {
        let log = text.replacen(VALUE, value, 1);
        let pieces = || log.as_bytes().chunks(64 << 10);
        let (_, peak) = memory::peak(|| importing::import(pieces(), &importing::options()));
        let ratio = 100 * peak / log.len();
        (peak > RATIO * log.len() + FIXED).then(|| format!("{name}: {ratio} % of the log"))
    };
    logs.filter_map(exceeds).collect()
}

/// Imports the four spans of a run among those of this many other traces. Returns the peak of memory.
fn among_traces(count: usize) -> usize {
    let span = |trace: usize, id: usize, attributes: &str| {
        let attributes = json!({ attributes: "execute_tool" });
        let span = json!({ "name": "f", "traceId": trace.to_string(), "spanId": id.to_string(), "attributes": attributes });
        format!("{span}\n")
    };
    let mut importer = Importer::new(importing::options());
    importer.open("spans.jsonl");
    let (traces, peak) = memory::peak(|| {
        let mut traces = Vec::new();
        for index in 1..=count {
            if index % (count / 4) == 1 {
                importer.push(span(0, index, "gen_ai.operation.name").as_bytes());
            }
            importer.push(span(index, index, "http.route").as_bytes());
            traces.extend(importer.next());
        }
        importer.end();
        traces.extend(std::iter::from_fn(|| importer.next()));
        traces
    });
    let [Ok(imported)] = &traces[..] else { panic!("{traces:?}") };
    assert_eq!(importing::value_of(imported)["steps"].as_array().unwrap().len(), 4);
    peak
}

/// The only test of its process, of which all memory is counted.
#[test]
fn import_takes_memory_in_proportion_to_a_line_and_to_json_in_strings() {
    // The first results compile the expressions for failures.
    let logs = logs();
    exceeding(&logs, OBJECTS, "[\"a\"]");
    for (what, value) in values() {
        assert_eq!(exceeding(&logs, what, &value), [""; 0], "{what}");
        if what == OBJECTS {
            let text = Value::from(value).to_string();
            assert_eq!(exceeding(&logs, what, &text), [""; 0], "{what}, in strings");
        }
    }

    // Other traces are forgotten.
    let [few, many] = [20_000, 60_000].map(among_traces);
    assert!(many < few + (1 << 20), "{few} bytes of 20,000 traces, {many} of 60,000");

    // Of compressed data little is decompressed at once. A frame whose blocks are 128 KiB of line feeds each.
    let block = [2, 0, 16, b'\n'];
    let archive = [&b"\x28\xb5\x2f\xfd\0\x38"[..], &block.repeat(256), &[1, 0, 0]].concat();
    let mut importer = Importer::default();
    importer.open("log.zst");
    let (_, peak) = memory::peak(|| {
        importer.push(&archive);
        importer.next()
    });
    assert_eq!(importer.reports()[0].bytes, 32 << 20);
    assert!(peak < 8 << 20, "{peak} bytes");
}
