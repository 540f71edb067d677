//! All recorded logs against what a second implementation of the same rules makes of them.

use std::{fs, path::PathBuf};

use knowledgepulse_import::{AssumeSuccess, Confidence, Document, Imported, Importer, Options};
use knowledgepulse_test_support::{Recordings, golden, importing::value_of, recordings};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn assuming(success: AssumeSuccess) -> Options {
    Options { assume_success: Some(success), ..Options::default() }
}

/// Imports files in one call, with what became of each.
fn import(files: &[PathBuf], options: Options) -> Vec<(Vec<Imported>, Value)> {
    let mut importer = Importer::new(options);
    let mut traces = Vec::new();
    for file in files {
        importer.open(file.to_str().unwrap());
        importer.push(&fs::read(file).unwrap());
        importer.end();
        traces.push(std::iter::from_fn(|| importer.next()).filter_map(Result::ok).collect());
    }
    let reports = serde_json::to_value(importer.report()).unwrap();
    let reports = reports["inputs"].as_array().unwrap().clone();
    traces.into_iter().zip(reports).collect()
}

fn canonical(value: &Value) -> String {
    Document::parse(value.to_string()).unwrap().root().canonical()
}

fn sha(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))[..12].to_owned()
}

/// Returns a trace as the golden files have it.
fn shown(imported: &Imported) -> Value {
    let trace = &value_of(imported);
    let provenance = serde_json::to_value(&imported.provenance).unwrap();
    let steps = trace["steps"].as_array().unwrap().iter().map(|step| {
        let mut shown = json!({ "type": step["type"] });
        if let Some(name) = step.pointer("/tool/name") {
            shown["tool"] = name.clone();
        }
        if let Some(content) = step["content"].as_str() {
            shown["contentSha"] = sha(content).into();
            shown["contentChars"] = content.chars().count().into();
        }
        if let Some(input) = step.get("input") {
            shown["inputSha"] = sha(&canonical(input)).into();
        }
        shown
    });
    json!({
        "id": trace["id"],
        "format": provenance["format"],
        "objective": trace["task"]["objective"],
        "objectiveFrom": provenance["objectiveFrom"],
        "success": trace["metadata"]["success"],
        "successFrom": provenance["successFrom"],
        "confidence": trace["outcome"]["confidence"],
        "confidenceFrom": provenance["confidenceFrom"],
        "createdAt": trace["metadata"]["created_at"],
        "createdAtFrom": provenance["createdAtFrom"],
        "domain": trace["metadata"]["task_domain"],
        "summarySha": sha(trace["outcome"]["result_summary"].as_str().unwrap()),
        "steps": steps.collect::<Vec<_>>(),
        "skipped": provenance["skipped"],
    })
}

/// Returns where two values differ.
fn differences(place: &str, found: &Value, expected: &Value, out: &mut Vec<String>) {
    match (found, expected) {
        (Value::Object(a), Value::Object(b)) => {
            for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
                let [a, b] = [a, b].map(|object| object.get(name).unwrap_or(&Value::Null));
                differences(&format!("{place}.{name}"), a, b, out);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for index in 0..a.len().max(b.len()) {
                let [a, b] = [a, b].map(|list| list.get(index).unwrap_or(&Value::Null));
                differences(&format!("{place}[{index}]"), a, b, out);
            }
        }
        _ if canonical(found) == canonical(expected) => {}
        _ => out.push(format!("{place}: expected {expected}, got {found}")),
    }
}

/// Returns where what the logs of a folder give differs from its golden file.
fn differing(Recordings { name, files, golden }: &Recordings) -> Vec<String> {
    let found = import(files, assuming(AssumeSuccess::Always(true)));
    let found = golden.iter().zip(found).map(|(golden, (traces, report))| {
        let errors = report["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|error| json!({ "line": error.get("line"), "code": error["code"] }));
        json!({
            "file": golden["file"],
            "formats": report["formats"],
            "traces": traces.iter().map(shown).collect::<Vec<_>>(),
            "skipped": report["skipped"],
            "errors": errors.collect::<Vec<_>>(),
        })
    });
    let mut all = Vec::new();
    differences(name, &found.collect(), &json!(golden), &mut all);
    all.truncate(SHOWN);
    all
}

/// How many differences are shown of a folder.
const SHOWN: usize = 40;

#[test]
fn recorded_logs_equal_golden() {
    let all: Vec<_> = recordings().iter().flat_map(differing).collect();
    assert!(all.is_empty(), "{} differences:\n{}", all.len(), all.join("\n"));
}

#[test]
fn options_equal_golden() {
    let Some(expected) = golden("options.json") else { return };
    let recordings = recordings();
    let atif = recordings.iter().find(|recordings| recordings.name == "atif").unwrap();
    let files = &atif.files;
    let names = atif.golden.iter().map(|golden| &golden["file"]);

    let options =
        Options { confidence: Some(Confidence::Logprobs), ..assuming(AssumeSuccess::Skip) };
    let skipped = import(files, options);
    let found: Value = names
        .clone()
        .zip(&skipped)
        .map(|(name, (traces, report))| json!([name, traces.len(), report["skipped"]]))
        .collect();
    assert_eq!(found, expected["assumeSuccess skip, confidence logprobs"]);

    let options = Options {
        confidence: Some(Confidence::Logprobs),
        ..assuming(AssumeSuccess::Always(false))
    };
    let failed = import(files, options);
    let found: Value = names
        .zip(&failed)
        .map(|(name, (traces, _))| {
            let traces = traces.iter().map(shown).map(|trace| {
                json!(
                    ["success", "successFrom", "confidence", "confidenceFrom"]
                        .map(|n| trace[n].clone())
                )
            });
            json!([name, traces.collect::<Vec<_>>()])
        })
        .collect();
    assert_eq!(found, expected["assumeSuccess false, confidence logprobs"]);
}
