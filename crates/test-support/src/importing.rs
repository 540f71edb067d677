//! Imports logs whole and in pieces, and checks the invariants of the results.

use std::{
    fs,
    path::{Path, PathBuf},
};

use knowledgepulse_import::{
    AssumeSuccess, Code, Error, IMPORTER, Imported, Importer, InputReport, Options, Origin,
    Skipped, utc,
};
use serde_json::{Map, Value};

use crate::read_trace;

/// Logs of one folder.
pub struct Logs {
    /// The name of the folder: a format or a framework.
    pub name: String,
    /// The logs, in order.
    pub logs: Vec<Log>,
}

/// A log.
pub struct Log {
    /// Its name, with that of its folder.
    pub path: PathBuf,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// Whether it was written for the tests.
    pub is_written: bool,
}

/// Returns the logs in an archive of a folder: each follows a line with its name.
fn unpacked(folder: &str, archive: &str) -> Vec<Log> {
    let archive = format!("\n{}", archive.strip_suffix('\n').expect("a last line"));
    let log = |log: &str| {
        let (name, text) = log.split_once(" --\n").expect("a line with a name");
        let (path, bytes) = (Path::new(folder).join(name), format!("{text}\n").into_bytes());
        Log { path, bytes, is_written: true }
    };
    archive.split("\n-- ").skip(1).map(log).collect()
}

/// Returns all logs by folder: those that were written for the tests, and recorded ones, which may be beside the
/// repository.
pub fn logs() -> Vec<Logs> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let roots = ["__test__/data/logs", "../shared/logs", "../shared/logs-2", "../shared/logs-3"];
    let mut all = Vec::new();
    for root in roots.map(|name| repository.join(name)).iter().filter(|root| root.exists()) {
        // Golden files have the results of each file.
        let entries = fs::read_dir(root.join("golden")).expect("golden files");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        names.sort();
        // Results with other options are separate.
        names.retain(|path| !path.ends_with("options.json"));
        for path in names {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            if let Ok(archive) = fs::read_to_string(root.join(format!("{name}.txtar"))) {
                let logs = unpacked(&name, &archive);
                all.push(Logs { name, logs });
                continue;
            }
            let golden = serde_json::from_str(&fs::read_to_string(&path).expect("a golden file"));
            let Value::Array(golden) = golden.expect("JSON") else { panic!("not a list") };
            let log = |result: &Value| {
                let path = root.join(result["file"].as_str().expect("a file"));
                let bytes = fs::read(&path).expect("a log");
                Log { path, bytes, is_written: false }
            };
            all.push(Logs { name, logs: golden.iter().map(log).collect() });
        }
    }
    all
}

/// Returns the written logs: the name of the folder, the file, and its lines or its one document, if they are JSON.
pub fn written() -> Vec<(String, PathBuf, Vec<Value>)> {
    let of = |Logs { name, logs }| logs.into_iter().map(move |log| (String::clone(&name), log));
    let own = logs().into_iter().flat_map(of).filter(|(_, log)| log.is_written);
    let read = |(name, Log { path, bytes, .. }): (String, Log)| {
        let text = String::from_utf8(bytes).expect("a text");
        let of_lines = || text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let records = serde_json::from_str(&text).map_or_else(|_| of_lines(), |value| vec![value]);
        (name, path, records)
    };
    own.map(read).collect()
}

/// Returns the pointers to all values in a value, each with the path by names and the types around it.
pub fn places(value: &Value) -> Vec<(String, String)> {
    let kind = ["type", "kind", "role", "from"].iter().find_map(|name| value[name].as_str());
    let members: Vec<_> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), &**name, value))
            .collect(),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .map(|(index, value)| (index.to_string(), "*", value))
            .collect(),
        _ => Vec::new(),
    };
    let mut all = Vec::new();
    for (step, name, value) in members {
        let (pointer, path) = (format!("/{step}"), format!("{}/{name}", kind.unwrap_or_default()));
        let inside = places(value).into_iter();
        all.extend(inside.map(|(rest, names)| (pointer.clone() + &rest, path.clone() + &names)));
        all.push((pointer, path));
    }
    all
}

/// The name that the logs are imported under.
const NAME: &str = "the log";

/// The results of a log.
#[derive(Debug)]
pub struct Outcome {
    /// The traces and errors, in order.
    pub items: Vec<Result<Imported, Error>>,
    /// The report on the log.
    pub report: InputReport,
}

impl Outcome {
    /// Returns the traces, in order.
    pub fn traces(&self) -> impl Iterator<Item = &Imported> {
        self.items.iter().filter_map(|item| item.as_ref().ok())
    }

    /// Returns the errors, in order.
    pub fn errors(&self) -> impl Iterator<Item = &Error> {
        self.items.iter().filter_map(|item| item.as_ref().err())
    }

    /// Returns the traces as JSON Lines.
    pub fn json_lines(&self) -> String {
        self.traces().map(|imported| format!("{}\n", imported.trace)).collect()
    }
}

/// Returns options that make a trace of every run.
pub fn options() -> Options {
    let assume_success = Some(AssumeSuccess::Always(true));
    Options { assume_success, ..Options::default() }
}

/// Imports one log, given in pieces, and compares its report with the results.
pub fn import<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, options: &Options) -> Outcome {
    let mut importer = Importer::new(options.clone());
    let mut items = Vec::new();
    importer.open(NAME);
    for piece in pieces {
        importer.push(piece);
        items.extend(std::iter::from_fn(|| importer.next()));
    }
    importer.end();
    items.extend(std::iter::from_fn(|| importer.next()));
    let [report] = importer.reports() else { panic!("one input has one report") };
    let outcome = Outcome { items, report: report.clone() };
    assert_eq!(report.traces, outcome.traces().count() as u64);
    // A report has the first errors, and the number of all errors.
    assert_eq!(report.error_count, outcome.errors().count() as u64);
    assert!(report.errors.iter().eq(outcome.errors().take(report.errors.len())));
    outcome
}

/// Imports a log of one run.
pub fn run(log: &str) -> Imported {
    let Outcome { mut items, .. } = import([log.as_bytes()], &options());
    assert_eq!(items.len(), 1, "{items:?}");
    items.remove(0).expect("a trace")
}

/// Returns whether a log is compressed, so that its content is not known here, and can be any number of times as long.
pub fn is_archive(log: &[u8]) -> bool {
    matches!(
        log,
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
    )
}

/// Imports a log, checks the invariants, and returns the results.
pub fn check(log: &[u8], piece: usize, options: &Options) -> Outcome {
    let outcome = import([log], options);
    if outcome.errors().any(|error| error.code == Code::Unreadable) {
        // How much of a damaged archive is read depends on the pieces.
        return outcome;
    }
    // The same bytes always give the same results, however they are split.
    let again = import(log.chunks(piece.max(1)), options);
    assert_eq!(outcome.items, again.items, "in pieces of {piece} bytes");
    assert_eq!(outcome.report, again.report, "in pieces of {piece} bytes");

    let lines = log.split(|byte| *byte == b'\n').count() as u64;
    let lines = if is_archive(log) { u64::MAX } else { lines };
    let report = &outcome.report;
    let is_skipped = report.skipped.iter().any(|(reason, _)| reason == "success_unknown");
    assert!(report.traces + report.error_count > 0 || is_skipped, "neither a trace nor an error");
    for error in outcome.errors() {
        assert_eq!(&*error.input, NAME);
        assert!(error.message.starts_with(NAME), "{error}");
        match error.line {
            Some(line) => assert!((1..=lines).contains(&line), "{error}"),
            None => {
                let is_whole = matches!(
                    error.code,
                    Code::UnknownFormat | Code::UnknownRecords | Code::NoTrace
                );
                assert!(is_whole, "{error}");
            }
        }
    }
    for imported in outcome.traces() {
        check_trace(imported, lines);
        assert!(report.formats.contains(&imported.provenance.format));
    }

    let exported = outcome.json_lines();
    if !exported.is_empty() {
        let again = import([exported.as_bytes()], &Options::default());
        assert_eq!(again.errors().next(), None, "of exported traces");
        assert_eq!(again.json_lines(), exported);
    }
    outcome
}

/// Returns a trace as a value.
pub fn value_of(imported: &Imported) -> Value {
    serde_json::from_str(&imported.trace.to_string()).expect("JSON")
}

/// Returns what was skipped, as a value.
pub fn skipped(skipped: &Skipped) -> Value {
    serde_json::to_value(skipped).expect("JSON")
}

/// Checks a trace and its provenance.
fn check_trace(imported: &Imported, lines: u64) {
    let provenance = &imported.provenance;
    let trace = &value_of(imported);
    let mut text = String::new();
    let read = read_trace(trace, &mut text).expect("a trace that can be scored");
    assert!((0.0..=1.0).contains(&read.confidence()));
    let steps = trace["steps"].as_array().expect("steps");
    assert!(!steps.is_empty());
    assert_eq!(provenance.importer, IMPORTER);
    assert_eq!(&*provenance.source.name, NAME);
    assert!((1..=lines).contains(&provenance.source.line));
    // These pass unchanged, with any other fields.
    if provenance.format == "reasoning-trace" {
        return;
    }

    assert_eq!(names(trace), ["@context", "@type", "id", "metadata", "task", "steps", "outcome"]);
    check_id(text_of(&trace["id"]));
    assert!(!is_blank(text_of(&trace["task"]["objective"])), "a blank objective");
    assert!(provenance.key.as_ref().is_none_or(|key| !is_blank(key)), "a blank key");
    let metadata = &trace["metadata"];
    assert_eq!(metadata["framework"], provenance.format);
    let created_at = text_of(&metadata["created_at"]);
    assert_eq!(utc(created_at).as_deref(), Some(created_at));
    let is_assumed = provenance.success_from == Origin::Assumed;
    assert!(!is_assumed || metadata["success"] == true);
    let outcome = &trace["outcome"];
    if provenance.confidence_from == Origin::Default {
        let expected = if metadata["success"] == true { 0.8 } else { 0.2 };
        assert_eq!(outcome["confidence"], expected);
    }
    assert!(text_of(&outcome["result_summary"]).chars().count() <= 2000);

    let facts = provenance.facts.as_ref().expect("facts");
    let calls = steps.iter().filter(|step| step.get("tool").is_some()).count();
    assert_eq!(facts.calls, calls as u64);
    assert!(facts.unanswered <= facts.calls && facts.retries <= facts.failed);

    let mut has_result = false;
    for (index, step) in steps.iter().enumerate() {
        assert_eq!(step["step_id"], index);
        match (text_of(&step["type"]), names(step).as_slice()) {
            ("thought", ["step_id", "type", "content"]) => {
                assert!(!is_blank(text_of(&step["content"])), "a blank thought");
            }
            ("observation", ["step_id", "type", "content"]) => {
                text_of(&step["content"]);
                has_result = true;
            }
            (kind @ ("tool_call" | "error_recovery"), ["step_id", "type", "tool", "input"]) => {
                assert_eq!(names(&step["tool"]), ["name"]);
                assert!(!is_blank(text_of(&step["tool"]["name"])), "a blank name of a tool");
                assert!(step["input"].is_object());
                assert!(kind == "tool_call" || has_result, "a recovery from nothing");
            }
            _ => panic!("{step}"),
        }
    }
}

/// Checks that an id is `kp:trace:` and a UUID of version 8.
fn check_id(id: &str) {
    let uuid = id.strip_prefix("kp:trace:").expect("an id of a trace");
    let parts: Vec<_> = uuid.split('-').collect();
    assert!(parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]), "{id}");
    assert!(parts[2].starts_with('8') && parts[3].starts_with(['8', '9', 'a', 'b']), "{id}");
    assert!(uuid.bytes().all(|letter| matches!(letter, b'-' | b'0'..=b'9' | b'a'..=b'f')), "{id}");
}

fn names(value: &Value) -> Vec<&str> {
    value.as_object().map(Map::keys).into_iter().flatten().map(String::as_str).collect()
}

fn text_of(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|letter| matches!(letter, '\t'..='\r' | ' '))
}
