//! Tests of the fingerprint.

use std::fs;

use serde_json::{Value, json};

use super::*;

fn fingerprint(change: impl FnOnce(&mut Value)) -> Result<String> {
    let entry =
        |name: &str, digit: &str| json!({ "name": name, "bytes": 1, "blake3": digit.repeat(64) });
    let mut manifest = json!({
        "format": 2, "name": "a model", "dimensions": 384, "maxTokens": 512,
        "files": [entry("model.bin", "1"), entry("tokenizer.json", "2"), entry("exact.onnx", "3")],
    });
    change(&mut manifest);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(MANIFEST), manifest.to_string()).unwrap();
    BuiltInFiles::open(folder.path())?.fingerprint()
}

#[test]
fn fingerprint_depends_on_name_weights_and_tokenizer() {
    let original = fingerprint(|_| {}).unwrap();
    // Recorded, because snapshots must remain valid in later versions.
    assert_eq!(original, "ef2cafe9d345caf9201aac532b7cf7c232fd1e6fee269861d3ce52a9586e64cc");
    type Change = fn(&mut Value);
    let others: [(&str, Change); 4] = [
        ("name", |manifest| manifest["name"] = json!("another model")),
        ("weights", |manifest| manifest["files"][0]["blake3"] = json!("4".repeat(64))),
        ("tokenizer", |manifest| manifest["files"][1]["blake3"] = json!("4".repeat(64))),
        ("exchange", |manifest| {
            let digest = manifest["files"][0]["blake3"].take();
            manifest["files"][0]["blake3"] = manifest["files"][1]["blake3"].take();
            manifest["files"][1]["blake3"] = digest;
        }),
    ];
    for (what, change) in others {
        assert_ne!(fingerprint(change).unwrap(), original, "{what}");
    }
    let same: [(&str, Change); 3] = [
        ("graph", |manifest| manifest["files"][2]["blake3"] = json!("4".repeat(64))),
        ("order", |manifest| manifest["files"].as_array_mut().unwrap().reverse()),
        ("licence", |manifest| manifest["license"] = json!("MIT")),
    ];
    for (what, change) in same {
        assert_eq!(fingerprint(change).unwrap(), original, "{what}");
    }
}

#[test]
fn fingerprint_needs_weights_and_tokenizer() {
    for (at, name) in [(0, "model.bin"), (1, "tokenizer.json")] {
        let error = fingerprint(|manifest| {
            manifest["files"].as_array_mut().unwrap().remove(at);
        });
        let error = error.expect_err(name).to_string();
        assert!(error.ends_with(&format!("names no file {name}")), "{error}");
    }
}
