//! Bytes of logs imported in a second, on one thread.

use std::{fs, path::Path};

use divan::{Bencher, counter::BytesCount};
use knowledgepulse_import::{AssumeSuccess, Importer, Options};

/// About how much is imported at once.
const BYTES: usize = 20 << 20;

/// The size of the pieces that JavaScript hands over.
const PIECE: usize = 1 << 20;

fn main() {
    divan::main();
}

/// Returns recorded sessions of Claude Code again and again, each time with other ids.
fn sessions() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/logs/claude-code");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"session-"))
    });
    files.sort();
    let sessions: Vec<_> = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let ids =
        regex::Regex::new(r#"("(?:uuid|parentUuid|logicalParentUuid|sessionId)": ?")[0-9a-f]{8}"#);
    let ids = ids.unwrap();
    let mut log = String::new();
    for (round, session) in sessions.iter().cycle().enumerate() {
        if log.len() > BYTES {
            break;
        }
        log.push_str(&ids.replace_all(session, format!("${{1}}{round:08x}")));
    }
    log.into_bytes()
}

/// Returns recorded conversations of chat messages again and again, one a line.
fn conversations() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/logs/messages");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let logs = files.iter().map(|path| {
        let log: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        format!("{log}\n").into_bytes()
    });
    let logs = logs.collect::<Vec<_>>().concat();
    logs.repeat(BYTES / logs.len() + 1)
}

fn import(log: &[u8]) -> usize {
    let assume_success = Some(AssumeSuccess::Always(true));
    let mut importer = Importer::new(Options { assume_success, ..Options::default() });
    importer.open("log.jsonl");
    let mut traces = 0;
    for piece in log.chunks(PIECE) {
        importer.push(piece);
        traces += std::iter::from_fn(|| importer.next()).filter(Result::is_ok).count();
    }
    importer.end();
    traces += std::iter::from_fn(|| importer.next()).filter(Result::is_ok).count();
    traces
}

#[divan::bench]
fn claude_code(bencher: Bencher) {
    let log = sessions();
    bencher.counter(BytesCount::of_slice(&log)).bench(|| import(&log));
}

#[divan::bench]
fn messages(bencher: Bencher) {
    let log = conversations();
    bencher.counter(BytesCount::of_slice(&log)).bench(|| import(&log));
}

/// Recorded lines, and the part of their ids that differs each time.
const LINES: [(&str, &str); 5] = [
    ("langsmith/rows-trip.jsonl", "01a204df"),
    ("gemini-cli/lines-v040.jsonl", "stage0"),
    ("copilot-cli/large.jsonl", "stage0"),
    ("opencode/written-stream.jsonl", "ses_9"),
    ("cursor/large.jsonl", "\0"),
];

#[divan::bench(args = LINES.map(|(file, _)| file))]
fn lines(bencher: Bencher, file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/logs-2").join(file);
    let lines = fs::read_to_string(path).unwrap();
    let (_, id) = LINES.iter().find(|(name, _)| *name == file).unwrap();
    let rounds = BYTES / lines.len() + 1;
    let log: String = (0..rounds).map(|round| lines.replace(id, &format!("{round:08x}"))).collect();
    bencher.counter(BytesCount::of_str(&log)).bench(|| import(log.as_bytes()));
}

/// Parsing alone, for comparison.
#[divan::bench]
fn serde_json(bencher: Bencher) {
    let log = sessions();
    bencher.counter(BytesCount::of_slice(&log)).bench(|| {
        log.split(|byte| *byte == b'\n')
            .filter(|line| serde_json::from_slice::<serde_json::Value>(line).is_ok())
            .count()
    });
}
