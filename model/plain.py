"""A plain float32 export of the same weights, the way a PyTorch exporter writes BERT.

    python model/plain.py --weights DIR --out DIR

It is the reference for fidelity and speed: nothing is merged, reordered or hand-tuned. Inputs
`input_ids`, `attention_mask`, `token_type_ids` int64 [batch, sequence]; output
`last_hidden_state` float32 [batch, sequence, WIDTH]. The files lie where transformers.js looks
for the local model `Xenova/all-MiniLM-L6-v2` with dtype fp32.
"""

import json
import math
import shutil
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

import weights
from graph import Graph
from weights import EPSILON, FFN, HEADS, LAYERS, POSITIONS, VOCABULARY, WIDTH

FOLDER = Path("Xenova") / "all-MiniLM-L6-v2"
HEAD = WIDTH // HEADS
LOWEST = np.finfo(np.float32).min

CONFIG = {
    "architectures": ["BertModel"],
    "hidden_act": "gelu",
    "hidden_size": WIDTH,
    "intermediate_size": FFN,
    "layer_norm_eps": EPSILON,
    "max_position_embeddings": POSITIONS,
    "model_type": "bert",
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "pad_token_id": 0,
    "position_embedding_type": "absolute",
    "type_vocab_size": 2,
    "vocab_size": VOCABULARY,
}

TOKENIZER_CONFIG = {
    "cls_token": "[CLS]",
    "do_basic_tokenize": True,
    "do_lower_case": True,
    "mask_token": "[MASK]",
    "model_max_length": POSITIONS,
    "pad_token": "[PAD]",
    "sep_token": "[SEP]",
    "strip_accents": None,
    "tokenize_chinese_chars": True,
    "tokenizer_class": "BertTokenizer",
    "unk_token": "[UNK]",
}


class PlainGraph(Graph):
    """A Graph with the small idioms of an exporter; all constants inside the file."""

    def norm(self, name, x, norm):
        gamma = self.store.add(f"{name}.gamma", norm.gamma)
        beta = self.store.add(f"{name}.beta", norm.beta)
        return self.node("LayerNormalization", [x, gamma, beta], name, axis=-1, epsilon=EPSILON)

    def constant(self, name, value, dtype):
        return self.store.add(name, np.array(value, dtype=dtype))

    def linear(self, name, x, linear):
        """MatMul and Add, bias first as PyTorch writes it."""
        weight = self.store.add(f"{name}.weight", linear.weight)
        bias = self.store.add(f"{name}.bias", linear.bias)
        return self.node("Add", [bias, self.node("MatMul", [x, weight], f"{name}.matmul")], name)

    def reshaped(self, name, x, tail):
        """x reshaped to [batch, sequence, *tail]."""
        shape = self.constant(f"{name}.target", [0, 0, *tail], np.int64)
        return self.node("Reshape", [x, shape], name)


def embeddings(graph, source):
    """[batch, sequence] ids and token types -> [batch, sequence, WIDTH]."""
    word = graph.store.add("word.table", source.word)
    kind = graph.store.add("token_type.table", source.token_type)
    place = graph.store.add("position.table", source.position)
    ids = np.arange(POSITIONS, dtype=np.int64)[None, :]
    ids = graph.store.add("position.ids", ids)
    zero = graph.constant("position.zero", [0], np.int64)
    one = graph.constant("position.one", [1], np.int64)
    length = graph.node("Shape", ["input_ids"], "position.length", start=1)
    ids = graph.node("Slice", [ids, zero, length, one], "position.slice")
    words = graph.node("Gather", [word, "input_ids"], "words")
    kinds = graph.node("Gather", [kind, "token_type_ids"], "token_types")
    places = graph.node("Gather", [place, ids], "positions")
    summed = graph.node("Add", [words, kinds], "words_and_types")
    summed = graph.node("Add", [summed, places], "all_embeddings")
    return graph.norm("embeddings", summed, source.norm)


def mask_bias(graph):
    """attention_mask [batch, sequence] -> what is added to scores, [batch, 1, 1, sequence]."""
    axes = graph.constant("mask.axes", [1, 2], np.int64)
    mask = graph.node("Unsqueeze", ["attention_mask", axes], "mask.wide")
    mask = graph.node("Cast", [mask], "mask.float", to=TensorProto.FLOAT)
    one = graph.constant("mask.one", 1, np.float32)
    mask = graph.node("Sub", [one, mask], "mask.inverse")
    lowest = graph.constant("mask.lowest", LOWEST, np.float32)
    return graph.node("Mul", [mask, lowest], "mask")


def heads(graph, name, x, linear, order):
    """x [batch, sequence, WIDTH] through `linear`, split into heads, axes put in `order`."""
    projected = graph.linear(name, x, linear)
    split = graph.reshaped(f"{name}.split", projected, (HEADS, HEAD))
    return graph.node("Transpose", [split], f"{name}.heads", perm=order)


def attention(graph, name, x, layer, mask):
    """Scaled dot-product attention written out; [batch, sequence, WIDTH] in and out."""
    query = heads(graph, f"{name}.query", x, layer.query, [0, 2, 1, 3])
    key = heads(graph, f"{name}.key", x, layer.key, [0, 2, 3, 1])
    value = heads(graph, f"{name}.value", x, layer.value, [0, 2, 1, 3])
    scores = graph.node("MatMul", [query, key], f"{name}.scores.raw")
    root = graph.constant(f"{name}.root", math.sqrt(HEAD), np.float32)
    scores = graph.node("Div", [scores, root], f"{name}.scores.scaled")
    scores = graph.node("Add", [scores, mask], f"{name}.scores")
    shares = graph.node("Softmax", [scores], f"{name}.shares", axis=-1)
    context = graph.node("MatMul", [shares, value], f"{name}.context.heads")
    context = graph.node("Transpose", [context], f"{name}.context.moved", perm=[0, 2, 1, 3])
    context = graph.reshaped(f"{name}.context", context, (WIDTH,))
    return graph.linear(f"{name}.output", context, layer.output)


def gelu(graph, name, x):
    """x (1 + erf(x / sqrt 2)) / 2, in the five operations of the exporter."""
    root = graph.constant(f"{name}.root", math.sqrt(2), np.float32)
    one = graph.constant(f"{name}.one", 1, np.float32)
    half = graph.constant(f"{name}.half", 0.5, np.float32)
    inner = graph.node("Div", [x, root], f"{name}.div")
    inner = graph.node("Erf", [inner], f"{name}.erf")
    inner = graph.node("Add", [inner, one], f"{name}.add")
    inner = graph.node("Mul", [x, inner], f"{name}.mul")
    return graph.node("Mul", [inner, half], name)


def encoder_layer(graph, name, x, layer, mask):
    """[batch, sequence, WIDTH] in and out."""
    attended = attention(graph, name, x, layer, mask)
    summed = graph.node("Add", [attended, x], f"{name}.attention_sum")
    h = graph.norm(f"{name}.attention_norm", summed, layer.attention_norm)
    wide = gelu(graph, f"{name}.gelu", graph.linear(f"{name}.up", h, layer.up))
    narrow = graph.linear(f"{name}.down", wide, layer.down)
    summed = graph.node("Add", [narrow, h], f"{name}.ffn_sum")
    return graph.norm(f"{name}.ffn_norm", summed, layer.ffn_norm)


def build_graph(source):
    """Return the ModelProto."""
    graph = PlainGraph()
    x = embeddings(graph, source)
    mask = mask_bias(graph)
    for index, layer in enumerate(source.layers):
        x = encoder_layer(graph, f"layer{index}", x, layer, mask)
    graph.node("Identity", [x], "last_hidden_state")
    shape = ["batch", "sequence"]
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in names]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, WIDTH])
    return graph.model("bert", inputs, output)


def build(source, out):
    """Write the export and the files transformers.js reads beside it."""
    source, folder = Path(source), Path(out) / FOLDER
    model = build_graph(weights.read(source))
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / "onnx" / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")
    for name, content in (("config.json", CONFIG), ("tokenizer_config.json", TOKENIZER_CONFIG)):
        text = json.dumps(content, indent=2) + "\n"
        (folder / name).write_bytes(text.encode("utf-8"))


if __name__ == "__main__":
    weights.convert(build, "Write the plain float32 export, as Xenova/... in a folder.")
