//! Finds the files of weights of an ONNX graph.
//!
//! Walks through the protobuf messages of the graph without reading the weights in it.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use crate::{EmbedError, Result, custom::is_inside};

const MAX_DEPTH: usize = 64;
/// The longest path of a file of weights, in bytes.
const MAX_PATH_BYTES: u64 = 4096;

/// A message of `onnx.proto`.
#[derive(Clone, Copy, PartialEq)]
enum Message {
    Model,
    Graph,
    Function,
    Node,
    Attribute,
    Tensor,
    SparseTensor,
    ExternalData,
}

impl Message {
    /// Returns the message in a field, if it may contain weights.
    fn child(self, field: u64) -> Option<Self> {
        Some(match (self, field) {
            (Self::Model, 7) | (Self::Attribute, 6 | 11) => Self::Graph,
            (Self::Model, 25) => Self::Function,
            (Self::Graph, 1) | (Self::Function, 7) => Self::Node,
            (Self::Node, 5) => Self::Attribute,
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) | (Self::SparseTensor, 1 | 2) => {
                Self::Tensor
            }
            (Self::Graph, 15) | (Self::Attribute, 22 | 23) => Self::SparseTensor,
            (Self::Tensor, 13) => Self::ExternalData,
            _ => return None,
        })
    }
}

pub(crate) fn files(graph: &Path) -> Result<Vec<PathBuf>> {
    let failed = |what: String| EmbedError::file(graph, what);
    let file = File::open(graph).map_err(|error| failed(error.to_string()))?;
    let length = file.metadata().map_err(|error| failed(error.to_string()))?.len();
    let mut walk =
        Walk { reader: BufReader::new(file), at: 0, has_graph: false, found: BTreeSet::new() };
    walk.message(Message::Model, length, 0)
        .map_err(|error| failed(format!("not an ONNX graph: {error}")))?;
    if !walk.has_graph {
        return Err(failed("not an ONNX graph: expected a graph, got none".into()));
    }
    let folder = graph.parent().unwrap_or(Path::new(""));
    let inside = |location: &String| {
        let outside =
            || failed(format!("external data: expected a file in its folder, got {location:?}"));
        if is_inside(location) { Ok(folder.join(location)) } else { Err(outside()) }
    };
    walk.found.iter().map(inside).collect()
}

struct Walk {
    reader: BufReader<File>,
    at: u64,
    has_graph: bool,
    found: BTreeSet<String>,
}

impl Walk {
    fn message(&mut self, message: Message, end: u64, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(io::Error::other("its messages are nested too deeply"));
        }
        let (mut key, mut value) = (String::new(), String::new());
        while self.at < end {
            let tag = self.varint()?;
            let length = match tag & 7 {
                0 => {
                    self.varint()?;
                    continue;
                }
                1 => 8,
                2 => self.varint()?,
                5 => 4,
                _ => return Err(io::Error::other(format!("tag {tag} at byte {}", self.at))),
            };
            let next = self.at.checked_add(length).filter(|next| *next <= end);
            let next = next.ok_or_else(|| {
                io::Error::other(format!(
                    "cut off: {length} bytes expected at byte {} of {end}",
                    self.at
                ))
            })?;
            match (message, message.child(tag >> 3)) {
                (Message::ExternalData, _) if tag & 7 == 2 && length <= MAX_PATH_BYTES => {
                    *if tag >> 3 == 1 { &mut key } else { &mut value } = self.text(length)?;
                }
                (_, Some(child)) if tag & 7 == 2 => {
                    self.has_graph |= child == Message::Graph;
                    self.message(child, next, depth + 1)?;
                }
                _ => {}
            }
            self.skip(next)?;
        }
        if key == "location" {
            self.found.insert(value);
        }
        Ok(())
    }

    fn skip(&mut self, next: u64) -> io::Result<()> {
        let offset = i64::try_from(next - self.at).map_err(io::Error::other)?;
        self.reader.seek_relative(offset)?;
        self.at = next;
        Ok(())
    }

    fn text(&mut self, length: u64) -> io::Result<String> {
        let mut text = String::new();
        let read = self.reader.by_ref().take(length).read_to_string(&mut text)?;
        self.at += read as u64;
        Ok(text)
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some(&byte) = self.reader.fill_buf()?.first() else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            self.reader.consume(1);
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(io::Error::other(format!("a number without end at byte {}", self.at)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A field that holds bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = bytes.len() as u16;
        let length = [(length & 0x7f) as u8 | 0x80, (length >> 7) as u8];
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

    fn found(model: &[u8]) -> Result<Vec<PathBuf>, String> {
        let folder = tempfile::tempdir().unwrap();
        let graph = folder.path().join("model.onnx");
        fs::write(&graph, model).unwrap();
        let files = files(&graph).map_err(|error| error.to_string())?;
        let beside = |path: PathBuf| path.strip_prefix(folder.path()).unwrap().to_owned();
        Ok(files.into_iter().map(beside).collect())
    }

    #[test]
    fn files_finds_data_of_initializers_and_attributes_once() {
        let attribute = field(5, &field(5, &tensor("inner/b.bin")));
        let subgraph = field(5, &field(6, &field(5, &tensor("c.bin"))));
        let graph = [
            vec![8, 1],
            field(5, &tensor("a.bin")),
            field(5, &tensor("a.bin")),
            field(1, &attribute),
            field(1, &subgraph),
            field(5, &field(9, b"numbers that lie in the graph")),
        ];
        let found = found(&field(7, &graph.concat())).unwrap();
        assert_eq!(found, [Path::new("a.bin"), Path::new("c.bin"), Path::new("inner/b.bin")]);
    }

    #[test]
    fn files_rejects_paths_outside_of_the_folder() {
        for location in ["../a.bin", "/etc/hostname", "inner/../../a.bin", "./../a"] {
            let error = found(&field(7, &field(5, &tensor(location)))).expect_err(location);
            assert!(error.contains("expected a file in its folder"), "{error}");
        }
    }

    #[test]
    fn files_rejects_files_that_are_not_graphs() {
        let whole = field(7, &field(5, &tensor("a.bin")));
        for (what, bytes) in [
            ("nothing", &[][..]),
            ("text", b"this is no graph"),
            ("cut off", &whole[..whole.len() - 1]),
            ("a number without end", &[0xff; 20]),
            ("a length beyond all", &[0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        ] {
            let error = found(bytes).expect_err(what);
            assert!(error.contains("not an ONNX graph"), "{what}: {error}");
        }
        let deep =
            (0..100).fold(tensor("a.bin"), |inner, _| field(1, &field(5, &field(6, &inner))));
        assert!(found(&field(7, &deep)).is_err());
    }
}
