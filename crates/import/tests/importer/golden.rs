//! What becomes of all logs: results and scores, as JavaScript has them too (`__test__/import/logs.test.mjs`).

use std::{collections::BTreeSet, fs, path::Path};

use knowledgepulse_import::{Error, Imported};
use knowledgepulse_scoring::{Novelty, Profiles, Score, cache::Nearest};
use knowledgepulse_test_support::{
    importing::{self, value_of},
    logs, read_trace,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::steps;

fn tests() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../__test__"))
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the logs in the golden files, with their results.
fn golden() -> Vec<Value> {
    let files = fs::read_dir(tests().join("logs/golden")).unwrap();
    let logs = files.map(|file| read::<Value>(&file.unwrap().path()));
    // Results with other options are an object.
    logs.filter_map(|logs| logs.as_array().cloned()).flatten().collect()
}

/// Returns what golden files have of a trace, but for its score.
fn told(imported: &Imported) -> Value {
    let (trace, from) = (value_of(imported), &imported.provenance);
    let (metadata, outcome) = (&trace["metadata"], &trace["outcome"]);
    let mut told = json!({
        "id": trace["id"], "format": from.format, "key": from.key,
        "objective": trace["task"]["objective"], "objectiveFrom": from.objective_from,
        "success": metadata["success"], "successFrom": from.success_from,
        "confidence": outcome["confidence"], "confidenceFrom": from.confidence_from,
        "createdAt": metadata["created_at"], "createdAtFrom": from.created_at_from,
        "domain": metadata["task_domain"], "summary": outcome["result_summary"],
        "steps": steps(imported), "skipped": from.skipped,
    });
    for step in told["steps"].as_array_mut().unwrap() {
        step.as_object_mut().unwrap().remove("step_id");
        if let Some(tool) = step.get_mut("tool") {
            *tool = tool["name"].take();
        }
    }
    if let Some(facts) = &from.facts {
        told["facts"] = json!(facts);
    }
    told
}

#[test]
fn written_logs_give_what_their_golden_files_say() {
    for mut expected in golden() {
        let log = fs::read(tests().join("logs").join(expected["file"].as_str().unwrap())).unwrap();
        for trace in expected["traces"].as_array_mut().unwrap() {
            trace.as_object_mut().unwrap().remove("scored");
        }
        let outcome = importing::import([&*log], &importing::options());
        let error = |error: &Error| {
            // Without the name of the log.
            let (_, message) = error.message.split_once("the log").unwrap();
            json!({ "line": error.line, "code": error.code, "message": message })
        };
        let found = json!({
            "file": expected["file"], "shows": expected["shows"], "formats": outcome.report.formats,
            "traces": outcome.traces().map(told).collect::<Vec<_>>(),
            "skipped": outcome.report.skipped, "errors": outcome.errors().map(error).collect::<Vec<_>>(),
        });
        assert_eq!(found, expected);
    }
}

/// An id, the hash of a text, and a score.
type Row = (String, (String, f64));

/// The ids of traces, the hashes of their texts, and the bits of their scores with a similarity of 0.25.
type Scores = BTreeSet<(String, String, u64)>;

fn scored((id, (hash, score)): Row) -> (String, String, u64) {
    (id, hash, score.to_bits())
}

fn score_all() -> Scores {
    let mut scores = Scores::new();
    for path in logs().iter().flat_map(|logs| &logs.files) {
        let log = fs::read(path).unwrap();
        for imported in importing::import([&*log], &importing::options()).traces() {
            let mut text = String::new();
            let trace = read_trace(&value_of(imported), &mut text).unwrap();
            let novelty = Novelty::Given(Some(Nearest { similarity: 0.25, id: None }));
            let score = Score::of(&trace, novelty, &Profiles::default()).value;
            let hash = format!("{:x}", Sha256::digest(text))[..12].to_owned();
            scores.insert(scored((trace.id().unwrap().to_string(), (hash, score))));
        }
    }
    scores
}

/// As the same objects do in JavaScript: both have to give the scores in the golden files of written logs, and in a
/// file for recorded ones, which may be absent.
#[test]
fn imported_traces_score_as_in_javascript() {
    let found = score_all();
    let golden = golden();
    let traces = golden.iter().flat_map(|log| log["traces"].as_array().unwrap());
    let rows = traces.map(|trace| serde_json::from_value(json!([trace["id"], trace["scored"]])));
    let written: Scores = rows.map(|row| scored(row.unwrap())).collect();
    let file = tests().join("fixtures/imported-scores.json");
    if std::env::var_os("KP_UPDATE").is_some() {
        let recorded = found.difference(&written);
        let rows = recorded.map(|(id, hash, score)| json!([id, [hash, f64::from_bits(*score)]]));
        let rows = rows.map(|row| row.to_string());
        fs::write(&file, format!("[\n{}\n]\n", rows.collect::<Vec<_>>().join(",\n"))).unwrap();
    }
    let rows: Vec<Row> = read(&file);
    let recorded = rows.into_iter().map(scored).filter(|row| found.contains(row));
    let expected: Scores = written.into_iter().chain(recorded).collect();
    assert_eq!(found.symmetric_difference(&expected).collect::<Vec<_>>(), Vec::<&_>::new());
}
