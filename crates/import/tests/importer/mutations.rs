//! All logs, damaged in many ways: each gives traces or errors, never a panic, and what comes out
//! keeps what [`importing::check`] asks for.
//!
//! The mutations of a sample are always the same. There are more of them in a long run, and fewer of large
//! samples in a short one.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    thread,
};

use fastrand::Rng;
use knowledgepulse_import::{Code, Imported, Skipped};
use knowledgepulse_test_support::{
    Logs,
    importing::{self, Outcome},
    is_long_run, logs, repeats,
};
use serde_json::{Deserializer, Map, Value, json};

/// How many mutations a small sample has by default.
const MUTATIONS: usize = 60;

/// How many bytes the mutations of a sample have by default.
const BYTES: usize = 200_000;

/// How many kinds of mutations there are, besides cuts.
const KINDS: usize = 1 + OF_LINES.len() + OF_VALUES.len();

/// Returns the size of pieces, more often small ones.
fn piece(rng: &mut Rng) -> usize {
    let bits = rng.u32(..16);
    1 + rng.usize(..1 << bits)
}

/// Imports a log in pieces, and checks what comes out.
fn check(log: &[u8], piece: usize) -> Outcome {
    importing::check(log, piece, &importing::options())
}

/// A log.
struct Sample {
    name: String,
    bytes: Vec<u8>,
    /// Its values.
    records: Vec<Value>,
    /// Whether it is read by lines.
    is_lines: bool,
}

impl Sample {
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let text = without_mark(&bytes);
        let records = Deserializer::from_slice(text).into_iter().map_while(Result::ok).collect();
        let mut lines = text.split(|byte| *byte == b'\n');
        let first = lines.find(|line| !line.trim_ascii().is_empty());
        let is_lines = first.is_some_and(is_whole);
        Self { name: path.file_name().unwrap().to_str().unwrap().into(), bytes, records, is_lines }
    }

    /// Returns records as they would be in a log of this kind.
    fn written(&self, records: &[Value]) -> Vec<u8> {
        let shown = records.iter().map(|record| match self.is_lines {
            true => format!("{record}\n"),
            false => format!("{record:#}\n"),
        });
        // Where a name is to occur twice, the second one is marked.
        shown.collect::<String>().replace(TWICE, "").into_bytes()
    }
}

/// Marks a member as one of two with the same name.
const TWICE: &str = "__twice__";

/// Returns a log without its byte order mark.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Returns whether a line consists of values.
fn is_whole(line: &[u8]) -> bool {
    let values: Result<Vec<Value>, _> = Deserializer::from_slice(line).into_iter().collect();
    values.is_ok_and(|values| !values.is_empty())
}

fn byte_changed(sample: &Sample, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = sample.bytes.clone();
    if let Some(byte) = rng.choice(&mut bytes) {
        *byte = *rng.choice(b"\"\\{}[],:0-e\n\r \0x\x80\xc3\xed\xff").unwrap();
    }
    bytes
}

/// Returns the lines of a log, each with its end.
fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// A mutation of lines, of which there is at least one.
type OfLines = fn(&mut Vec<&[u8]>, &mut Rng);

const OF_LINES: [OfLines; 3] = [lines_repeated, lines_swapped, line_removed];

fn lines_changed(sample: &Sample, change: OfLines, rng: &mut Rng) -> Vec<u8> {
    let mut lines = lines_of(&sample.bytes);
    if !lines.is_empty() {
        change(&mut lines, rng);
    }
    lines.concat()
}

fn lines_repeated(lines: &mut Vec<&[u8]>, rng: &mut Rng) {
    for _ in 0..=rng.usize(..3) {
        let line = *rng.choice(&*lines).unwrap();
        lines.insert(rng.usize(..=lines.len()), line);
    }
}

fn lines_swapped(lines: &mut Vec<&[u8]>, rng: &mut Rng) {
    for _ in 0..=rng.usize(..5) {
        let (a, b) = (rng.usize(..lines.len()), rng.usize(..lines.len()));
        lines.swap(a, b);
    }
}

fn line_removed(lines: &mut Vec<&[u8]>, rng: &mut Rng) {
    lines.remove(rng.usize(..lines.len()));
}

/// A mutation of one of the values that are picked.
type OfValue = (fn(&Value) -> bool, fn(&mut Value, &mut Rng));

const OF_VALUES: [OfValue; 8] = [
    (is_full_object, member_removed),
    (|_| true, type_changed),
    (is_full_array, element_repeated),
    (is_full_array, |value, rng| rng.shuffle(value.as_array_mut().unwrap())),
    (is_full_object, name_twice),
    (|_| true, nested_deep),
    (is_full_array, array_widened),
    (|value| value.is_object() || value.is_array() || value.is_string(), json_in_text),
];

fn value_changed(sample: &Sample, (is_picked, change): OfValue, rng: &mut Rng) -> Vec<u8> {
    let mut records = Value::Array(sample.records.clone());
    let mut count = 0;
    visit(&mut records, &mut |value| count += usize::from(is_picked(value)));
    let picked = rng.choice(0..count);
    let mut index = 0;
    visit(&mut records, &mut |value| {
        if is_picked(value) {
            if picked == Some(index) {
                change(value, rng);
            }
            index += 1;
        }
    });
    match &records {
        Value::Array(records) => sample.written(records),
        record => sample.written(std::slice::from_ref(record)),
    }
}

/// Visits a value, and then all values in it.
fn visit(value: &mut Value, each: &mut dyn FnMut(&mut Value)) {
    each(value);
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(|value| visit(value, each)),
        Value::Object(members) => members.values_mut().for_each(|value| visit(value, each)),
        _ => {}
    }
}

fn is_full_object(value: &Value) -> bool {
    value.as_object().is_some_and(|members| !members.is_empty())
}

fn is_full_array(value: &Value) -> bool {
    value.as_array().is_some_and(|elements| !elements.is_empty())
}

fn some_name(members: &Map<String, Value>, rng: &mut Rng) -> String {
    rng.choice(members.keys()).unwrap().clone()
}

fn member_removed(value: &mut Value, rng: &mut Rng) {
    let members = value.as_object_mut().unwrap();
    let name = some_name(members, rng);
    members.shift_remove(&name);
}

fn type_changed(value: &mut Value, rng: &mut Rng) {
    let old = value.take();
    *value = match rng.usize(..10) {
        0 => Value::Null,
        1 => json!(rng.bool()),
        2 => json!(rng.choice([0.0, -1.0, 1.5, 1e300, -0.0, 1e-300])),
        3 => json!(rng.choice([0, u64::MAX, 99_999_999_999, 1_000_000_000_000_000])),
        4 => json!(rng.choice(["", " \n", "null", "[]", "{}", "0", "\u{feff}", "2025-01-01"])),
        5 => json!([old]),
        6 => json!({ "text": old }),
        7 => json!({}),
        8 => match old {
            Value::Array(elements) => {
                let names = (0..).map(|index: u32| index.to_string());
                names.zip(elements).collect()
            }
            Value::Object(members) => members.into_iter().map(|(_, value)| value).collect(),
            _ => json!([]),
        },
        _ => Value::from(old.to_string()),
    };
}

fn element_repeated(value: &mut Value, rng: &mut Rng) {
    let elements = value.as_array_mut().unwrap();
    let element = rng.choice(&*elements).unwrap().clone();
    elements.insert(rng.usize(..=elements.len()), element);
}

fn name_twice(value: &mut Value, rng: &mut Rng) {
    let members = value.as_object_mut().unwrap();
    let name = some_name(members, rng);
    let others = [json!(null), json!("x"), json!({}), members[&name].clone()];
    let at = rng.usize(..=members.len());
    members.shift_insert(at, format!("{TWICE}{name}"), rng.choice(others).unwrap());
}

fn nested_deep(value: &mut Value, rng: &mut Rng) {
    let depths = [2, 10, 100, 110, 115, 118, 120, 121, 122, 123, 124, 125, 126, 127, 128];
    let name = rng.choice(["", "text", "content", "message", "value", "kwargs"]).unwrap();
    for _ in 0..rng.choice(depths).unwrap() {
        *value = match name {
            "" => json!([value]),
            name => json!({ name: value }),
        };
    }
    if rng.bool() {
        *value = value.to_string().into();
    }
}

fn array_widened(value: &mut Value, rng: &mut Rng) {
    let elements = value.as_array_mut().unwrap();
    let element = rng.choice(&*elements).unwrap().clone();
    let times = 20_000 / element.to_string().len();
    elements.extend(std::iter::repeat_n(element, times.clamp(1, 2000)));
}

fn json_in_text(value: &mut Value, rng: &mut Rng) {
    for _ in 0..=rng.usize(..3) {
        *value = value.to_string().into();
    }
}

/// Checks what came of a log that ends too early.
fn check_cut(sample: &Sample, log: &[u8], outcome: &Outcome) {
    let whole_lines = log.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (begin, rest) = if sample.is_lines { log.split_at(whole_lines) } else { (&[][..], log) };
    let rest = without_mark(rest);
    if is_whole(rest) || rest.trim_ascii().is_empty() {
        return;
    }
    // A run whose calls are unknown is an error as well.
    let errors = outcome.errors().filter(|error| error.code != Code::UnknownRecords);
    let error = errors.last().expect("an error");
    let expected = match std::str::from_utf8(rest) {
        Ok(_) => Code::InvalidJson,
        Err(_) => Code::InvalidUtf8,
    };
    assert_eq!(error.code, expected, "{error}");
    if sample.is_lines {
        assert_eq!(error.line, Some(lines_of(begin).len() as u64 + 1), "{error}");
        let first = Deserializer::from_slice(rest).into_iter::<Value>().next();
        if first.is_some_and(|value| value.is_err()) {
            let without = importing::import([begin], &importing::options());
            assert_eq!(outcome.json_lines(), without.json_lines());
        }
    } else if sample.records.len() == 1 {
        assert_eq!(outcome.traces().next(), None);
    }
}

/// Repeats lines of Claude Code that say which they are.
fn records_repeated(lines: &mut Vec<&[u8]>, rng: &mut Rng) {
    let has_ids = |line: &[u8]| {
        let mut values = Deserializer::from_slice(line).into_iter::<Value>();
        values.all(|value| value.is_ok_and(|value| value.get("uuid").is_some()))
    };
    for _ in 0..=rng.usize(..20) {
        let at = rng.usize(..lines.len());
        if has_ids(lines[at]) {
            lines.insert(at + 1, lines[at]);
        }
    }
}

/// Checks that repeated lines change nothing but where traces begin and what is skipped.
fn check_repeated(sample: &Sample, outcome: &Outcome) {
    let essence = |outcome: &Outcome| {
        let mut traces: Vec<_> = outcome.traces().cloned().collect();
        for Imported { provenance, .. } in &mut traces {
            provenance.skipped = Skipped::default();
            provenance.source.line = 1;
        }
        traces
    };
    let whole = importing::import([&*sample.bytes], &importing::options());
    assert_eq!(essence(outcome), essence(&whole));
}

/// Has a log checked; keeps it if that fails.
fn attempt(name: &str, log: &[u8], check: impl FnOnce(&[u8])) {
    if catch_unwind(AssertUnwindSafe(|| check(log))).is_err() {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.replace([',', ' '], "-"));
        fs::write(&file, log).unwrap();
        panic!("{name}, kept in {}: see above", file.display());
    }
}

/// Mutates all samples of a folder.
fn mutate(Logs { name, files }: &Logs) {
    for (number, file) in files.iter().enumerate() {
        let sample = Sample::read(file);
        let length = sample.bytes.len();
        let has_records = name == "claude-code" && sample.is_lines;
        let affordable = (BYTES / length.max(1)).clamp(2 * KINDS, MUTATIONS);
        let count = if is_long_run() { repeats(MUTATIONS) } else { affordable };
        let mut rng = Rng::with_seed(number as u64);
        let cuts = (count / 4).min(100);
        for cut in 0..cuts {
            let log = &sample.bytes[..length * cut / cuts];
            attempt(&format!("{}, cut {cut} of {cuts}", sample.name), log, |log| {
                check_cut(&sample, log, &check(log, piece(&mut rng)));
            });
        }
        for round in cuts..count {
            let kind = round % (KINDS + 1);
            let log = match kind {
                0 if has_records => lines_changed(&sample, records_repeated, &mut rng),
                0 => sample.bytes.clone(),
                1 => byte_changed(&sample, &mut rng),
                2..=4 => lines_changed(&sample, OF_LINES[kind - 2], &mut rng),
                _ => value_changed(&sample, OF_VALUES[kind - 5], &mut rng),
            };
            attempt(&format!("{}, mutation {round}", sample.name), &log, |log| {
                let outcome = check(log, piece(&mut rng));
                if kind == 0 {
                    check_repeated(&sample, &outcome);
                }
            });
        }
    }
}

#[test]
fn logs_survive_mutations() {
    let logs = logs();
    thread::scope(|scope| {
        for logs in &logs {
            scope.spawn(|| mutate(logs));
        }
    });
}
