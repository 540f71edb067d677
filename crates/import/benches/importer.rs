//! Bytes of logs imported in a second, on one thread.

use divan::{Bencher, counter::BytesCount};
use knowledgepulse_import::{AssumeSuccess, Importer, Options};
use knowledgepulse_test_support::logs;

/// About how much is imported at once.
const BYTES: usize = 20 << 20;

/// The size of the pieces that JavaScript hands over.
const PIECE: usize = 1 << 20;

fn main() {
    divan::main();
}

/// Returns the text of logs whose names begin and end so, in order.
fn texts(format: &str, begin: &str, end: &str) -> Vec<String> {
    let of_format = logs().into_iter().filter(|logs| logs.name == format);
    let logs = of_format.flat_map(|logs| logs.logs).filter(|log| {
        let name = log.path.file_name().unwrap().to_string_lossy();
        name.starts_with(begin) && name.ends_with(end)
    });
    logs.map(|log| String::from_utf8(log.bytes).unwrap()).collect()
}

/// Returns recorded sessions of Claude Code again and again, each time with other ids.
fn sessions() -> Vec<u8> {
    let ids =
        regex::Regex::new(r#"("(?:uuid|parentUuid|logicalParentUuid|sessionId)": ?")[0-9a-f]{8}"#);
    let ids = ids.unwrap();
    let mut log = String::new();
    for (round, session) in texts("claude-code", "session-", "").iter().cycle().enumerate() {
        if log.len() > BYTES {
            break;
        }
        log.push_str(&ids.replace_all(session, format!("${{1}}{round:08x}")));
    }
    log.into_bytes()
}

/// Returns recorded conversations of chat messages again and again, one a line.
fn conversations() -> Vec<u8> {
    let logs = texts("messages", "", ".json").into_iter().map(|text| {
        let log: serde_json::Value = serde_json::from_str(&text).unwrap();
        format!("{log}\n")
    });
    let logs: String = logs.collect();
    logs.repeat(BYTES / logs.len() + 1).into_bytes()
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
