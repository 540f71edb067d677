//! Files of weights that match the manifest, and others.

use std::fs;

use serde_json::{Value, json};

use super::*;

type Two = (Box<[i16]>, Box<[f32]>);

/// Reads two tensors from the weights `found`, with a manifest for `expected` and `tensors`. Errors are without the
/// path of the folder.
fn read(expected: &[u8], tensors: &Value, found: Option<&[u8]>) -> Result<Two, String> {
    let folder = tempfile::tempdir().unwrap();
    let digest = blake3::hash(expected).to_string();
    let manifest = json!({
        "format": 2, "name": "a model", "dimensions": 384, "maxTokens": 512,
        "files": [{ "name": "model.bin", "bytes": expected.len(), "blake3": digest }],
        "tensors": tensors,
    });
    fs::write(folder.path().join("manifest.json"), manifest.to_string()).unwrap();
    if let Some(found) = found {
        fs::write(folder.path().join("model.bin"), found).unwrap();
    }
    let files = BuiltInFiles::open(folder.path()).unwrap();
    let read = || {
        let mut tensors = Tensors::open(&files)?;
        let read = (tensors.next("words", &[2, 2])?, tensors.next("scale", &[2])?);
        tensors.finish()?;
        Ok(read)
    };
    read().map_err(|error: EmbedError| {
        let error = error.to_string();
        let rest = error.strip_prefix(&folder.path().display().to_string()).expect("the path");
        rest.trim_start_matches(['/', '\\']).to_owned()
    })
}

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
    let (words, scale) = read(&bytes, &places, Some(&bytes)).unwrap();
    assert_eq!(words[..], [1, -2, i16::MIN, i16::MAX]);
    assert_eq!(scale[..], [1.5, -0.0]);
}

#[test]
fn next_refuses_another_type_or_shape() {
    for (name, other, expected) in [
        ("words", tensor("int16", &[4], 0), "tensor words: expected [2, 2], got [4]"),
        ("words", tensor("float32", &[2, 2], 0), "tensor words: expected int16, got float32"),
        ("scale", tensor("int16", &[2], 64), "tensor scale: expected float32, got int16"),
        ("scale", tensor("float32", &[2], 0), "tensor scale: expected at 64, got 0"),
    ] {
        let (bytes, mut places) = two();
        places[name] = other;
        let error = read(&bytes, &places, Some(&bytes)).expect_err(expected);
        assert_eq!(error, format!("manifest.json: {expected}"));
    }
    let (bytes, mut places) = two();
    places.as_object_mut().unwrap().remove("scale");
    let error = read(&bytes, &places, Some(&bytes)).expect_err("no tensor");
    assert_eq!(error, "manifest.json: names no tensor scale");
}

#[test]
fn finish_refuses_damaged_weights() {
    let (bytes, places) = two();
    for (what, found) in [
        ("20 bytes", &bytes[..20]),
        ("3 bytes", &bytes[..3]),
        ("0 bytes", &[]),
        ("78 bytes", &[&bytes[..], &[0]].concat()),
    ] {
        let expected = format!("model.bin is damaged: expected 77 bytes, got {what}");
        assert_eq!(read(&bytes, &places, Some(found)), Err(expected));
    }
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 0x40;
        let error = read(&bytes, &places, Some(&other)).expect_err("damage");
        assert!(error.starts_with("model.bin is damaged: expected BLAKE3 "), "byte {at}: {error}");
    }
    assert!(read(&bytes, &places, None).expect_err("no file").starts_with("model.bin: "));
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
            let error = read(&bytes, &places, Some(&bytes)).expect_err("another offset");
            assert!(error.contains(": expected at "), "{name} at {offset}: {error}");
        }
    }
}
