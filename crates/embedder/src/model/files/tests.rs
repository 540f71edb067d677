//! Files that equal their entry, and others.

use std::fs;

use serde_json::{Value, json};

use super::*;

fn checksum_of(contents: &[u8]) -> String {
    use twox_hash::XxHash3_128;
    let parts = contents.chunks(1 << 20).map(|part| XxHash3_128::oneshot(part).to_be_bytes());
    format!("{:032x}", XxHash3_128::oneshot(&parts.flatten().collect::<Vec<_>>()))
}

fn manifest_of(file: Value) -> Value {
    json!({
        "format": 4, "name": "a model", "dimensions": 384, "maxTokens": 512, "fingerprint": "f", "files": [file],
    })
}

#[test]
fn map_refuses_damaged_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(WEIGHTS);
    // More than two parts, of which the first is released.
    let right: Vec<u8> = (0..(5 << 19) + 3).map(|at: u32| (at % 251) as u8).collect();
    let entry = json!({ "name": WEIGHTS, "bytes": right.len(), "xxh3": checksum_of(&right) });
    let manifest = manifest_of(entry);
    fs::write(folder.path().join(MANIFEST), manifest.to_string()).unwrap();
    let files = BuiltInFiles::open(folder.path()).unwrap();
    let map = |found: &[u8]| {
        fs::write(&path, found).unwrap();
        let mapped = files.map(WEIGHTS, 3 << 19);
        mapped.map(|file| assert!(*file == *found)).map_err(|error| error.to_string())
    };
    let damaged = format!("{} is damaged: expected ", path.display());
    assert_eq!(map(&right), Ok(()));
    for found in [&right[1..], &[], &[&right[..], &[0]].concat()] {
        let bytes = format!("{damaged}{} bytes, got {} bytes", right.len(), found.len());
        assert_eq!(map(found), Err(bytes));
    }
    for at in [0, 1 << 20, 2 << 20, right.len() - 1] {
        let mut other = right.clone();
        other[at] ^= 0x40;
        let error = map(&other).expect_err("damage");
        assert!(error.starts_with(&format!("{damaged}XXH3 ")), "byte {at}: {error}");
    }
    fs::remove_file(&path).unwrap();
    assert!(files.map(WEIGHTS, 0).is_err());
}

#[test]
fn open_needs_all_fields_and_map_an_entry() {
    let folder = tempfile::tempdir().unwrap();
    let mut manifest = manifest_of(json!({ "name": "another", "bytes": 0, "xxh3": "" }));
    let mut open = |field: &str| {
        let value = manifest.as_object_mut().unwrap().remove(field);
        fs::write(folder.path().join(MANIFEST), manifest.to_string()).unwrap();
        manifest[field] = value.into();
        BuiltInFiles::open(folder.path())
    };
    let error = open("fingerprint").err().expect("no fingerprint").to_string();
    assert!(error.contains("missing field `fingerprint`"), "{error}");
    let files = open("revision").unwrap();
    assert_eq!(files.manifest.fingerprint, "f");
    let error = files.map(WEIGHTS, 0).expect_err("no weights").to_string();
    assert!(error.ends_with("names no file model.bin"), "{error}");
}
