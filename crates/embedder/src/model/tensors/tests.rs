//! Files of weights that match the manifest, and others.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// A model folder with a manifest and weights.
struct Folder(TempDir);

impl Folder {
    /// Writes weights of `bytes`, with `tensors` in the manifest.
    fn new(bytes: &[u8], tensors: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let digest = blake3::hash(bytes).to_string();
        let manifest = json!({
            "format": 2, "name": "a model", "dimensions": 384, "maxTokens": 512,
            "files": [{ "name": "model.bin", "bytes": bytes.len(), "blake3": digest }],
            "tensors": tensors,
        });
        fs::write(folder.path().join("manifest.json"), manifest.to_string()).unwrap();
        fs::write(folder.path().join("model.bin"), bytes).unwrap();
        Self(folder)
    }

    fn files(&self) -> BuiltInFiles {
        BuiltInFiles::open(self.0.path()).unwrap()
    }

    /// Reads the two tensors.
    fn read(&self) -> Result<Two> {
        let files = self.files();
        let mut tensors = Tensors::open(&files)?;
        let read = (tensors.next("words", &[2, 2])?, tensors.next("scale", &[2])?);
        tensors.finish()?;
        Ok(read)
    }

    /// Returns the error for the weights, without the path of the folder.
    #[track_caller]
    fn error(&self) -> String {
        let error = self.read().expect_err("an error").to_string();
        let rest = error.strip_prefix(&self.0.path().display().to_string()).expect("the path");
        rest.trim_start_matches(['/', '\\']).to_owned()
    }
}

type Two = (Box<[i16]>, Box<[f32]>);

fn tensor(element: &str, shape: &[usize], offset: usize) -> Value {
    json!({ "type": element, "shape": shape, "offset": offset })
}

/// Two tensors with a gap between them, and something behind: 77 bytes.
fn two() -> (Vec<u8>, Value) {
    let mut bytes = vec![1, 0, 254, 255, 0, 128, 255, 127];
    bytes.resize(64, 9);
    bytes.extend([1.5_f32, -0.0].into_iter().flat_map(f32::to_le_bytes));
    bytes.extend([7; 5]);
    (bytes, json!({ "words": tensor("int16", &[2, 2], 0), "scale": tensor("float32", &[2], 64) }))
}

#[test]
fn next_reads_tensors_in_order() {
    let (bytes, places) = two();
    let (words, scale) = Folder::new(&bytes, &places).read().unwrap();
    assert_eq!(words[..], [1, -2, i16::MIN, i16::MAX]);
    assert_eq!(scale[..], [1.5, -0.0]);
}

#[test]
fn next_refuses_another_type_or_shape() {
    let (bytes, places) = two();
    let folder = Folder::new(&bytes, &places);
    let files = folder.files();
    let mut tensors = Tensors::open(&files).unwrap();
    let errors = [
        (tensors.next::<i16>("words", &[4]).err(), "tensor words: expected [4], got [2, 2]"),
        (tensors.next::<i16>("scale", &[2]).err(), "tensor scale: expected int16, got float32"),
        (tensors.next::<f32>("words", &[2, 2]).err(), "tensor words: expected float32, got int16"),
        (tensors.next::<f32>("scale", &[2]).err(), "tensor scale: expected at 0, got 64"),
        (tensors.next::<f32>("bias", &[2]).err(), "names no tensor bias"),
    ];
    let manifest = folder.0.path().join("manifest.json");
    for (found, expected) in errors {
        let found = found.expect(expected).to_string();
        assert_eq!(found, format!("{}: {expected}", manifest.display()));
    }
}

#[test]
fn finish_refuses_damaged_weights() {
    let (bytes, places) = two();
    for (what, change) in [
        ("20 bytes", bytes[..20].to_vec()),
        ("3 bytes", bytes[..3].to_vec()),
        ("0 bytes", Vec::new()),
        ("78 bytes", [&bytes[..], &[0]].concat()),
    ] {
        let folder = Folder::new(&bytes, &places);
        fs::write(folder.0.path().join("model.bin"), change).unwrap();
        let expected = format!("model.bin is damaged: expected 77 bytes, got {what}");
        assert_eq!(folder.error(), expected);
    }
    for at in 0..bytes.len() {
        let (folder, mut other) = (Folder::new(&bytes, &places), bytes.clone());
        other[at] ^= 0x40;
        fs::write(folder.0.path().join("model.bin"), other).unwrap();
        let error = folder.error();
        assert!(error.starts_with("model.bin is damaged: expected BLAKE3 "), "byte {at}: {error}");
    }
    let folder = Folder::new(&bytes, &places);
    fs::remove_file(folder.0.path().join("model.bin")).unwrap();
    assert!(folder.error().starts_with("model.bin: "));
}

/// A wrong offset would give other weights and other scores.
#[test]
fn next_refuses_every_other_offset() {
    let places = [(0, 1, 0), (8, 65_535, 64), (8, 65_536, 65_536), (65_536, 65_536, 65_536)];
    for (end, bytes, start) in places {
        assert_eq!(aligned(end, bytes), start, "{bytes} bytes behind {end}");
    }
    let (bytes, _) = two();
    let parts = [("words", "int16", 0, &[2, 2][..]), ("scale", "float32", 64, &[2])];
    for (name, element, right, shape) in parts {
        for offset in (0..=bytes.len()).filter(|offset| *offset != right) {
            let mut places = two().1;
            places[name] = tensor(element, shape, offset);
            let error = Folder::new(&bytes, &places).error();
            assert!(error.contains(": expected at "), "{name} at {offset}: {error}");
        }
    }
}
