//! Finds the files of weights of an ONNX graph.
//!
//! The messages here have only the fields of `onnx.proto` that lead to the names of these files.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use prost::Message;

use crate::{
    embed_error::{EmbedError, Result},
    model::files::read,
};

/// The limit of Protocol Buffers.
const MAX_GRAPH_BYTES: u64 = i32::MAX as u64;

/// The `data_location` of a tensor whose numbers are in a file.
const EXTERNAL: i32 = 1;

#[derive(Message)]
struct Model {
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
    #[prost(message, repeated, tag = "25")]
    functions: Vec<Function>,
}

#[derive(Message)]
struct Graph {
    #[prost(message, repeated, tag = "1")]
    nodes: Vec<Node>,
    #[prost(message, repeated, tag = "5")]
    initializers: Vec<Tensor>,
    #[prost(message, repeated, tag = "15")]
    sparse_initializers: Vec<SparseTensor>,
}

#[derive(Message)]
struct Function {
    #[prost(message, repeated, tag = "7")]
    nodes: Vec<Node>,
    #[prost(message, repeated, tag = "11")]
    attributes: Vec<Attribute>,
}

#[derive(Message)]
struct Node {
    #[prost(message, repeated, tag = "5")]
    attributes: Vec<Attribute>,
}

#[derive(Message)]
struct Attribute {
    #[prost(message, optional, tag = "5")]
    tensor: Option<Tensor>,
    #[prost(message, optional, tag = "6")]
    graph: Option<Graph>,
    #[prost(message, repeated, tag = "10")]
    tensors: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    graphs: Vec<Graph>,
    #[prost(message, optional, tag = "22")]
    sparse_tensor: Option<SparseTensor>,
    #[prost(message, repeated, tag = "23")]
    sparse_tensors: Vec<SparseTensor>,
}

#[derive(Message)]
struct SparseTensor {
    #[prost(message, optional, tag = "1")]
    values: Option<Tensor>,
    #[prost(message, optional, tag = "2")]
    indices: Option<Tensor>,
}

#[derive(Message)]
struct Tensor {
    #[prost(message, repeated, tag = "13")]
    external_data: Vec<Entry>,
    #[prost(int32, tag = "14")]
    data_location: i32,
}

#[derive(Message)]
struct Entry {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

pub(crate) fn files(graph: &Path) -> Result<Vec<PathBuf>> {
    let model = Model::decode(&read(graph, MAX_GRAPH_BYTES)?[..])
        .map_err(|error| EmbedError::file(graph, format!("not an ONNX graph: {error}")))?;
    let found = model.locations();
    if let Some(location) = found.iter().find(|location| !is_inside(location)) {
        let what = format!("external data: expected a file in its folder, got {location:?}");
        return Err(EmbedError::file(graph, what));
    }
    Ok(found.iter().map(|location| graph.with_file_name(location)).collect())
}

/// Returns whether a relative path stays inside of its folder.
pub fn is_inside(path: impl AsRef<Path>) -> bool {
    let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    path.as_ref().components().all(is_below)
}

impl Model {
    /// Returns the names of the files of weights.
    fn locations(&self) -> BTreeSet<&str> {
        let of_functions = self.functions.iter().flat_map(|Function { nodes, attributes }| {
            nodes.iter().flat_map(|node| &node.attributes).chain(attributes)
        });
        let of_graph = self.graph.iter().flat_map(Graph::tensors);
        let tensors = of_graph.chain(of_functions.flat_map(Attribute::tensors));
        let external = tensors.filter(|tensor| tensor.data_location == EXTERNAL);
        let entries = external.flat_map(|tensor| &tensor.external_data);
        let locations = entries.filter(|entry| entry.key == "location");
        locations.map(|entry| entry.value.as_str()).collect()
    }
}

impl Graph {
    fn tensors(&self) -> Vec<&Tensor> {
        let sparse = self.sparse_initializers.iter().flat_map(SparseTensor::parts);
        let attributes = self.nodes.iter().flat_map(|node| &node.attributes);
        let of_nodes = attributes.flat_map(Attribute::tensors);
        self.initializers.iter().chain(sparse).chain(of_nodes).collect()
    }
}

impl Attribute {
    fn tensors(&self) -> Vec<&Tensor> {
        let sparse = self.sparse_tensor.iter().chain(&self.sparse_tensors);
        let sparse = sparse.flat_map(SparseTensor::parts);
        let of_graphs = self.graph.iter().chain(&self.graphs).flat_map(Graph::tensors);
        self.tensor.iter().chain(&self.tensors).chain(sparse).chain(of_graphs).collect()
    }
}

impl SparseTensor {
    fn parts(&self) -> impl Iterator<Item = &Tensor> {
        self.values.iter().chain(&self.indices)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A field that holds at most 127 bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        assert!(bytes.len() < 0x80);
        [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
    }

    fn tensor(location: &str) -> Tensor {
        let entry = |(key, value): (&str, &str)| Entry { key: key.into(), value: value.into() };
        let external_data = [("offset", "0"), ("location", location)].map(entry).into();
        Tensor { external_data, data_location: EXTERNAL }
    }

    fn node(attribute: Attribute) -> Node {
        Node { attributes: vec![attribute] }
    }

    #[test]
    fn locations_finds_each_file_wherever_a_tensor_is() {
        let sparse = |values: &str, indices: &str| SparseTensor {
            values: Some(tensor(values)),
            indices: Some(tensor(indices)),
        };
        let inner = Graph { initializers: vec![tensor("inner/a.bin")], ..Graph::default() };
        let branch = Graph { initializers: vec![tensor("branch")], ..Graph::default() };
        let attribute = Attribute {
            tensor: Some(tensor("tensor")),
            tensors: vec![tensor("one"), tensor("two")],
            graph: Some(inner),
            graphs: vec![branch],
            sparse_tensor: Some(sparse("c", "d")),
            sparse_tensors: vec![sparse("e", "f")],
        };
        let graph = Graph {
            initializers: vec![tensor("a.bin"), tensor("a.bin")],
            sparse_initializers: vec![sparse("g", "h")],
            nodes: vec![node(attribute)],
        };
        let of = |name| Attribute { tensor: Some(tensor(name)), ..Attribute::default() };
        let functions =
            vec![Function { nodes: vec![node(of("node"))], attributes: vec![of("default")] }];
        let model = Model { graph: Some(graph), functions };
        let decoded = Model::decode(&model.encode_to_vec()[..]).unwrap();
        let all = "a.bin branch c d default e f g h inner/a.bin node one tensor two";
        assert_eq!(decoded.locations(), all.split(' ').collect());
    }

    #[test]
    fn locations_depends_on_fields_and_not_on_their_order() {
        let location = [field(2, b"a.bin"), field(1, b"location")].concat();
        let other = [field(1, b"location"), field(2, b"other")].concat();
        let external = [14 << 3, EXTERNAL as u8];
        // The metadata of the tensor, whose field has the number 16.
        let metadata = [&[0x82, 0x01, other.len() as u8], &other[..]].concat();
        let tensor = [&external, &field(13, &location)[..], &metadata].concat();
        let in_the_graph = field(13, &other);
        let graph = [field(5, &tensor), field(5, &in_the_graph)].concat();
        let model = [field(14, &other), field(7, &graph)].concat();
        let model = Model::decode(&model[..]).unwrap();
        assert_eq!(model.locations(), BTreeSet::from(["a.bin"]));
    }

    #[test]
    fn files_rejects_paths_outside_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.onnx");
        for location in ["../a.bin", "/etc/hostname", "inner/../../a.bin", "./../a"] {
            let graph = Graph { initializers: vec![tensor(location)], ..Graph::default() };
            let model = Model { graph: Some(graph), functions: Vec::new() };
            fs::write(&path, model.encode_to_vec()).unwrap();
            let error = files(&path).expect_err(location).to_string();
            assert!(error.contains("expected a file in its folder"), "{error}");
        }
    }
}
