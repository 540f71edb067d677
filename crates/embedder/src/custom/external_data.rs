//! Finds the files of weights of an ONNX graph.
//!
//! A tensor whose numbers are in a file has an entry with the key `location` and the path of the file. The bytes of the
//! graph are searched for such entries instead of parsed, because protobuf libraries write them in one way only.

use std::{
    collections::BTreeSet,
    io::{self, Read},
    path::{Path, PathBuf},
};

use memchr::memmem;

use crate::{EmbedError, Result, custom::is_inside, model::files::open};

/// The beginning of an entry: the tag of the first field, its length, the key, and the tag of the second field.
const ENTRY: &[u8] = b"\x0a\x08location\x12";

/// The longest path whose length has two bytes.
const MAX_PATH_BYTES: usize = (1 << 14) - 1;

/// The size of a chunk of the graph, in bytes.
const CHUNK: u64 = 1 << 20;

pub(crate) fn files(graph: &Path) -> Result<Vec<PathBuf>> {
    let found = locations(open(graph)?, CHUNK).map_err(|error| EmbedError::file(graph, error))?;
    if let Some(location) = found.iter().find(|location| !is_inside(location)) {
        let what = format!("external data: expected a file in its folder, got {location:?}");
        return Err(EmbedError::file(graph, what));
    }
    Ok(found.iter().map(|location| graph.with_file_name(location)).collect())
}

fn locations(mut graph: impl Read, chunk: u64) -> io::Result<BTreeSet<String>> {
    let (mut found, mut bytes) = (BTreeSet::new(), Vec::new());
    while graph.by_ref().take(chunk).read_to_end(&mut bytes)? > 0 {
        let entries = memmem::find_iter(&bytes, ENTRY);
        found.extend(entries.filter_map(|at| location(&bytes[at + ENTRY.len()..])));
        // An entry may continue in the next chunk.
        bytes.drain(..bytes.len().saturating_sub(ENTRY.len() + 2 + MAX_PATH_BYTES));
    }
    Ok(found)
}

/// Returns the path at the beginning of `bytes`, after its length.
fn location(bytes: &[u8]) -> Option<String> {
    let (length, rest) = match bytes {
        [length @ ..0x80, rest @ ..] => (usize::from(*length), rest),
        [low, high @ ..0x80, rest @ ..] => {
            (usize::from(*low & 0x7f) | usize::from(*high) << 7, rest)
        }
        _ => return None,
    };
    let path = rest.get(..length)?;
    // A value named `location` is followed by a line feed, the tag of its type.
    (!path.starts_with(b"\n")).then(|| String::from_utf8_lossy(path).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A field that holds bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = match bytes.len() {
            length @ ..0x80 => vec![length as u8],
            length => vec![(length & 0x7f) as u8 | 0x80, (length >> 7) as u8],
        };
        [&[number << 3 | 2], &length[..], bytes].concat()
    }

    /// A tensor with its data in a file.
    fn tensor(location: &str) -> Vec<u8> {
        let entry = |key: &str, value: &str| {
            let pair = [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
            field(13, &pair)
        };
        [entry("offset", "0"), entry("location", location)].concat()
    }

    #[test]
    fn locations_finds_each_file_once_wherever_chunks_end() {
        let long = format!("inner/{}.bin", "b".repeat(200));
        let value = field(13, &[field(1, b"location"), field(2, &field(1, &[8, 1]))].concat());
        let graph = [
            field(5, &tensor("a.bin")),
            field(5, &tensor("a.bin")),
            field(1, &field(5, &field(5, &tensor(&long)))),
            value,
            field(5, &field(9, b"numbers that lie in the graph")),
        ];
        let model = field(7, &graph.concat());
        for chunk in (1..200).chain([CHUNK]) {
            let found = locations(&model[..], chunk).unwrap();
            assert_eq!(found, ["a.bin", &long].map(String::from).into(), "{chunk}");
        }
    }

    #[test]
    fn files_rejects_paths_outside_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let graph = folder.path().join("model.onnx");
        for location in ["../a.bin", "/etc/hostname", "inner/../../a.bin", "./../a"] {
            fs::write(&graph, field(7, &field(5, &tensor(location)))).unwrap();
            let error = files(&graph).expect_err(location).to_string();
            assert!(error.contains("expected a file in its folder"), "{error}");
        }
    }
}
