//! Fingerprints, and files that match the manifest or not.

use std::fs;

use serde_json::{Value, json};

use super::*;

fn fingerprint(change: impl FnOnce(&mut Value)) -> Result<String> {
    let entry =
        |name: &str, digit: &str| json!({ "name": name, "bytes": 1, "blake3": digit.repeat(64) });
    let mut manifest = json!({
        "format": 3, "name": "a model", "dimensions": 384, "maxTokens": 512,
        "tokenizer": "2".repeat(64),
        "files": [entry("model.bin", "1"), entry("exact.onnx", "3"), entry("vocabulary.bin", "4")],
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
        ("tokenizer", |manifest| manifest["tokenizer"] = json!("4".repeat(64))),
        ("exchange", |manifest| {
            let digest = manifest["files"][0]["blake3"].take();
            manifest["files"][0]["blake3"] = manifest["tokenizer"].take();
            manifest["tokenizer"] = digest;
        }),
    ];
    for (what, change) in others {
        assert_ne!(fingerprint(change).unwrap(), original, "{what}");
    }
    let same: [(&str, Change); 4] = [
        ("graph", |manifest| manifest["files"][1]["blake3"] = json!("4".repeat(64))),
        ("layout of the vocabulary", |manifest| {
            manifest["files"][2]["blake3"] = json!("5".repeat(64));
        }),
        ("order", |manifest| manifest["files"].as_array_mut().unwrap().reverse()),
        ("licence", |manifest| manifest["license"] = json!("MIT")),
    ];
    for (what, change) in same {
        assert_eq!(fingerprint(change).unwrap(), original, "{what}");
    }
}

#[test]
fn fingerprint_needs_weights_and_tokenizer() {
    let error = fingerprint(|manifest| {
        manifest["files"].as_array_mut().unwrap().remove(0);
    });
    let error = error.expect_err("no weights").to_string();
    assert!(error.ends_with("names no file model.bin"), "{error}");
    let error = fingerprint(|manifest| {
        manifest.as_object_mut().unwrap().remove("tokenizer");
    });
    let error = error.expect_err("no tokenizer").to_string();
    assert!(error.contains("missing field `tokenizer`"), "{error}");
}

#[test]
fn verify_refuses_damaged_files() {
    let (folder, right) = (tempfile::tempdir().unwrap(), [1, 2, 254, 255, 0, 128]);
    let path = folder.path().join(WEIGHTS);
    let blake3 = blake3::hash(&right).to_string();
    let entry = Entry { name: WEIGHTS.into(), bytes: right.len() as u64, blake3 };
    let verify = |found: &[u8]| {
        fs::write(&path, found).unwrap();
        entry.verify(&path, HashThreads::Many).map(drop).map_err(|error| error.to_string())
    };
    let damaged = format!("{} is damaged: expected ", path.display());
    assert_eq!(verify(&right), Ok(()));
    for found in [&right[..5], &[], &[&right[..], &[0]].concat()] {
        assert_eq!(verify(found), Err(format!("{damaged}6 bytes, got {} bytes", found.len())));
    }
    for at in 0..right.len() {
        let mut other = right;
        other[at] ^= 0x40;
        let error = verify(&other).expect_err("damage");
        assert!(error.starts_with(&format!("{damaged}BLAKE3 ")), "byte {at}: {error}");
    }
    fs::remove_file(&path).unwrap();
    assert!(entry.verify(&path, HashThreads::Many).is_err());
}

#[test]
fn hash_file_equals_the_hash_of_the_contents() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for length in [0, 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES, 5 * PART_BYTES / 2 + 1025] {
        let contents: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        fs::write(&file, &contents).unwrap();
        for threads in [HashThreads::One, HashThreads::Many] {
            let found = hash_file(file.path(), threads).unwrap();
            assert_eq!(found, (length, blake3::hash(&contents)), "{length}");
        }
    }
}
