//! Conversations that later lines continue, in files and streams.

use knowledgepulse_import::Importer;
use knowledgepulse_test_support::importing;
use serde_json::{Value, json};

use crate::{begins, lines, steps, written};

#[test]
fn conversation_that_later_lines_continue_is_one_run_but_in_a_stream() {
    let log = written("messages/histories.jsonl");
    let outcome = importing::check(log.as_bytes(), 1, &importing::options());
    assert_eq!(begins(&outcome), [2, 3, 4, 5, 7, 9]);
    for piece in [1, log.len()] {
        let mut importer = Importer::new(importing::options());
        importer.open_stream("stream");
        let mut found = Vec::new();
        for bytes in log.as_bytes().chunks(piece) {
            importer.push(bytes);
            let runs = std::iter::from_fn(|| importer.next());
            found.extend(runs.map(|run| run.unwrap().provenance.source.line));
        }
        assert!(found.into_iter().eq(1..=9), "in pieces of {piece} bytes");
    }
}

#[test]
fn importer_holds_nothing_once_all_of_its_inputs_are_traces() {
    let log = written("messages/histories.jsonl");
    let mut importer = Importer::new(importing::options());
    for name in ["first", "second"] {
        importer.open(name);
        importer.push(log.as_bytes());
        importer.end();
        assert!(importer.held() > 0);
        assert!(std::iter::from_fn(|| importer.next()).all(|run| run.is_ok()));
        assert_eq!(importer.held(), 0);
    }
}

#[test]
fn conversations_that_alternate_are_a_run_for_each_unless_they_are_nine() {
    let text = |role: &str, text: String| json!({ "role": role, "content": text });
    let request = |(conversation, rounds): (usize, usize)| {
        let messages = (0..rounds).flat_map(|round| {
            [text("user", format!("{conversation} asks {round}")), text("assistant", "Yes".into())]
        });
        json!({ "messages": messages.collect::<Vec<_>>() })
    };
    // Messages by themselves stand where the first of them does.
    let begin = [request((0, 1)), text("user", "Go".into()), request((1, 1))];
    let two = (2..=5).flat_map(|rounds| [(1, rounds), (0, rounds)]).map(request);
    let two = begin.into_iter().chain(two).chain([text("assistant", "No".into())]).collect();
    let nine = (1..=2).flat_map(|rounds| (0..9).map(move |index| (index, rounds)));
    let lengths = (1..=2).flat_map(|rounds| vec![2 * rounds - 1; 9]).collect();
    for (records, expected, continued) in [
        (two, vec![9, 1, 9], json!({ "continued": 8 })),
        (nine.map(request).collect(), lengths, json!({})),
    ] {
        let records: Vec<Value> = records;
        let outcome = importing::check(lines(&records).as_bytes(), 7, &importing::options());
        let found: Vec<_> = outcome.traces().map(|run| steps(run).len()).collect();
        assert_eq!(found, expected);
        assert_eq!(importing::skipped(&outcome.report.skipped), continued);
    }
}
