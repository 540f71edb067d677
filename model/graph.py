"""The ONNX graph: token ids of one text in, its unit vector out.

Input `input_ids` int64 [tokens], 1 to 512 tokens; output `embedding` float32 [WIDTH].
One text has no padding, so there is no batch axis, no mask and no token types.
"""

import numpy as np
from onnx import TensorProto, helper

from storage import Store
from weights import EPSILON, HEADS, WIDTH

MICROSOFT = "com.microsoft"

# Old enough for every ONNX Runtime from 1.17 on.
IR_VERSION = 8
OPSET = 17


class Graph:
    """Nodes in the order in which they are made, and the store of their constants."""

    def __init__(self, location):
        self.store = Store(location)
        self.nodes = []

    def node(self, operator, inputs, output, domain="", **attributes):
        """Append a node with one output named `output`; return that name."""
        self.nodes.append(
            helper.make_node(operator, inputs, [output], output, domain=domain, **attributes)
        )
        return output

    def decoded(self, name, quantised):
        """A float32 constant kept as int16; ONNX Runtime folds Cast and Mul while loading."""
        values = self.store.add(f"{name}.values", quantised.values)
        scale = self.store.add(f"{name}.scale", quantised.scale)
        cast = self.node("Cast", [values], f"{name}.cast", to=TensorProto.FLOAT)
        return self.node("Mul", [cast, scale], name)

    def norm(self, name, x, norm):
        """LayerNorm over the last axis of x [tokens, WIDTH]."""
        gamma = self.store.add(f"{name}.gamma", norm.gamma)
        beta = self.store.add(f"{name}.beta", norm.beta)
        return self.node("LayerNormalization", [x, gamma, beta], name, axis=-1, epsilon=EPSILON)


def embeddings(graph, folded, ids):
    """ids [tokens] -> [tokens, WIDTH]; only the rows looked up are decoded, never the table."""
    values = graph.store.add("word.values", folded.word.values)
    scale = graph.store.add("word.scale", folded.word.scale)
    rows = graph.node("Gather", [values, ids], "word.rows", axis=0)
    rows = graph.node("Cast", [rows], "word.cast", to=TensorProto.FLOAT)
    scales = graph.node("Gather", [scale, ids], "word.row_scales", axis=0)
    word = graph.node("Mul", [rows, scales], "word")
    table = graph.decoded("position.table", folded.position)
    zero = graph.store.add("zero", np.array([0], dtype=np.int64))
    tokens = graph.node("Shape", [ids], "tokens")
    position = graph.node("Slice", [table, zero, tokens, zero], "position")
    return graph.norm("embeddings", graph.node("Add", [word, position], "words"), folded.norm)


def attention(graph, name, x, layer):
    """x [tokens, WIDTH] -> the heads side by side, [tokens, WIDTH].

    MultiHeadAttention without a mask and without a bias of its own takes the flash kernel, which
    never makes the [tokens, tokens] scores; a Gemm adds the bias at less cost.
    """
    weight = graph.decoded(f"{name}.qkv.weight", layer.qkv)
    bias = graph.store.add(f"{name}.qkv.bias", layer.qkv_bias)
    packed = graph.node("Gemm", [x, weight, bias], f"{name}.qkv")
    packed = graph.node("Unsqueeze", [packed, "zero"], f"{name}.qkv.batch")
    thirds = [f"{name}.{part}" for part in ("query", "key", "value")]
    split = helper.make_node("Split", [packed, "thirds"], thirds, f"{name}.split", axis=2)
    graph.nodes.append(split)
    heads = graph.node("MultiHeadAttention", thirds, f"{name}.heads", MICROSOFT, num_heads=HEADS)
    return graph.node("Squeeze", [heads, "zero"], f"{name}.attended")


def encoder_layer(graph, name, x, layer):
    """x [tokens, WIDTH] -> [tokens, WIDTH]; both residual sums are the C of a Gemm."""
    attended = attention(graph, name, x, layer)
    weight = graph.decoded(f"{name}.output.weight", layer.output)
    summed = graph.node("Gemm", [attended, weight, x], f"{name}.output")
    h = graph.norm(f"{name}.attention_norm", summed, layer.attention_norm)
    weight = graph.decoded(f"{name}.up.weight", layer.up)
    bias = graph.store.add(f"{name}.up.bias", layer.up_bias)
    wide = graph.node("MatMul", [h, weight], f"{name}.up")
    wide = graph.node("BiasGelu", [wide, bias], f"{name}.gelu", MICROSOFT)
    weight = graph.decoded(f"{name}.down.weight", layer.down)
    summed = graph.node("Gemm", [wide, weight, h], f"{name}.down")
    return graph.norm(f"{name}.ffn_norm", summed, layer.ffn_norm)


def build(folded, location):
    """Return the ModelProto and the bytes of its external file `location`."""
    graph = Graph(location)
    graph.store.add("thirds", np.array([WIDTH] * 3, dtype=np.int64))
    x = embeddings(graph, folded, "input_ids")
    for index, layer in enumerate(folded.layers):
        x = encoder_layer(graph, f"layer{index}", x, layer)
    mean = graph.node("ReduceMean", [x], "mean", axes=[0], keepdims=0)
    graph.node("LpNormalization", [mean], "embedding", axis=0, p=2)
    proto = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["tokens"])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [WIDTH])],
        graph.store.tensors,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(proto, opset_imports=opsets, ir_version=IR_VERSION)
    return model, bytes(graph.store.data)
