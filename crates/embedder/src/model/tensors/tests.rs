//! Files of weights that match the manifest, and others.

use std::fs;

use serde_json::json;

use super::*;

type Two = (Vec<i16>, Vec<f32>);

/// Two tensors with a gap between them: 72 bytes.
fn two() -> Vec<u8> {
    let mut bytes = vec![1, 0, 254, 255, 0, 128, 255, 127];
    bytes.resize(64, 9);
    bytes.extend([1.5_f32, -0.0].into_iter().flat_map(f32::to_le_bytes));
    bytes
}

/// Reads two tensors from the weights `found`, with a manifest for `expected`. Errors are without the path of the folder.
fn read(expected: &[u8], found: Option<&[u8]>) -> Result<Two, String> {
    let folder = tempfile::tempdir().unwrap();
    let digest = blake3::hash(expected).to_string();
    let manifest = json!({
        "format": 3, "name": "a model", "dimensions": 384, "maxTokens": 512, "tokenizer": "",
        "files": [{ "name": "model.bin", "bytes": expected.len(), "blake3": digest }],
    });
    fs::write(folder.path().join("manifest.json"), manifest.to_string()).unwrap();
    if let Some(found) = found {
        fs::write(folder.path().join("model.bin"), found).unwrap();
    }
    let files = BuiltInFiles::open(folder.path()).unwrap();
    let read = || {
        let mut tensors = Tensors::open(&files)?;
        let read = (tensors.next(4)?, tensors.next(2)?);
        tensors.finish()?;
        Ok(read)
    };
    read().map_err(|error: EmbedError| {
        let error = error.to_string();
        let rest = error.strip_prefix(&folder.path().display().to_string()).expect("the path");
        rest.trim_start_matches(['/', '\\']).to_owned()
    })
}

#[test]
fn next_reads_tensors_in_order() {
    let (words, scale) = read(&two(), Some(&two())).unwrap();
    assert_eq!(words[..], [1, -2, i16::MIN, i16::MAX]);
    assert_eq!(scale[..], [1.5, -0.0]);
    let places = [(0, 1, 0), (8, 65_535, 64), (8, 65_536, 65_536), (65_536, 65_536, 65_536)];
    for (end, bytes, start) in places {
        assert_eq!(aligned(end, bytes), start, "{bytes} bytes behind {end}");
    }
}

#[test]
fn finish_refuses_damaged_weights() {
    let bytes = two();
    for (what, found) in
        [("20 bytes", &bytes[..20]), ("0 bytes", &[]), ("73 bytes", &[&bytes[..], &[0]].concat())]
    {
        let expected = format!("model.bin is damaged: expected 72 bytes, got {what}");
        assert_eq!(read(&bytes, Some(found)), Err(expected));
    }
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 0x40;
        let error = read(&bytes, Some(&other)).expect_err("damage");
        assert!(error.starts_with("model.bin is damaged: expected BLAKE3 "), "byte {at}: {error}");
    }
    assert!(read(&bytes, None).expect_err("no file").starts_with("model.bin: "));
}

#[test]
fn finish_refuses_weights_of_another_layout() {
    let longer = [two(), vec![0]].concat();
    let error = "model.bin is damaged: expected 73 bytes, got 72 bytes";
    assert_eq!(read(&longer, Some(&longer)), Err(error.into()));
    let shorter = &two()[..70];
    assert_eq!(read(shorter, Some(shorter)), Err("model.bin: failed to fill whole buffer".into()));
}
