"""The encoder as an ONNX graph of operators of the standard domain.

Inputs `input_ids` and `attention_mask`, int64 [batch, tokens], 1 to 512 tokens. What tables and
weights are stored as is said by a subclass: `Stored` below, and that of plain.py.
"""

import math

import numpy as np
from onnx import TensorProto, helper

from storage import Store, quantise, to_panels
from weights import EPSILON, HEADS, WIDTH, Linear

# Old enough for every ONNX Runtime from 1.17 on.
IR_VERSION = 8
OPSET = 17

INPUTS = ("input_ids", "attention_mask")
LOWEST = np.finfo(np.float32).min


class Graph:
    """Nodes in the order in which they are made, and the store of their constants.

    `location` is the file of the constants; without one, they are in that of the graph.
    """

    def __init__(self, location=None):
        self.store = Store(location)
        self.nodes = []

    def node(self, operator, inputs, output, **attributes):
        """Append a node with one output named `output`; return that name."""
        self.nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))
        return output

    def constant(self, name, value, dtype):
        return self.store.add(name, np.array(value, dtype=dtype))

    def reshaped(self, name, x, *shape):
        return self.node("Reshape", [x, self.constant(f"{name}.shape", shape, np.int64)], name)

    def norm(self, name, x, norm):
        """LayerNorm over the last axis of x."""
        gamma = self.store.add(f"{name}.gamma", norm.gamma)
        beta = self.store.add(f"{name}.beta", norm.beta)
        return self.node("LayerNormalization", [x, gamma, beta], name, axis=-1, epsilon=EPSILON)

    def linear(self, name, x, linear):
        """x @ weight + bias"""
        weight = self.weight(f"{name}.weight", linear.weight)
        bias = self.store.add(f"{name}.bias", linear.bias)
        return self.node("Add", [self.node("MatMul", [x, weight], f"{name}.product"), bias], name)

    def model(self, name, output, shape):
        """The ModelProto of all nodes, with the inputs of an encoder and one output."""
        tensor = helper.make_tensor_value_info
        inputs = [tensor(name, TensorProto.INT64, ["batch", "tokens"]) for name in INPUTS]
        outputs = [tensor(output, TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.store.tensors)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


class Stored(Graph):
    """16-bit integers with scales, which the graph decodes."""

    def rows(self, name, table, ids):
        """The rows of a table, decoded after they have been looked up."""
        quantised = quantise(table, axis=1)
        values = self.store.add(f"{name}.values", quantised.values)
        scale = self.store.add(f"{name}.scale", quantised.scale[:, 0])
        rows = self.node("Gather", [values, ids], f"{name}.rows")
        rows = self.node("Cast", [rows], f"{name}.rows.float", to=TensorProto.FLOAT)
        scales = self.node("Gather", [scale, ids], f"{name}.scales")
        last = self.constant(f"{name}.last", [-1], np.int64)
        scales = self.node("Unsqueeze", [scales, last], f"{name}.scales.column")
        return self.node("Mul", [rows, scales], name)

    def weight(self, name, matrix):
        """A matrix out of panels, with a scale for each column."""
        quantised = quantise(matrix, axis=0)
        panels = self.store.add(name, to_panels(quantised.values))
        scale = self.store.add(f"{name}.scale", quantised.scale[0])
        decoded = self.node("Cast", [panels], f"{name}.float", to=TensorProto.FLOAT)
        decoded = self.node("Transpose", [decoded], f"{name}.rows", perm=[1, 0, 2])
        decoded = self.reshaped(f"{name}.matrix", decoded, *matrix.shape)
        return self.node("Mul", [decoded, scale], f"{name}.decoded")

    def projections(self, name, x, layer):
        """Query, key and value, which are stored as one matrix."""
        parts = (layer.query, layer.key, layer.value)
        weight = np.concatenate([part.weight for part in parts], axis=1)
        bias = np.concatenate([part.bias for part in parts])
        projected = self.linear(f"{name}.qkv", x, Linear(weight, bias))
        names = [f"{name}.{part}" for part in ("query", "key", "value")]
        self.nodes.append(helper.make_node("Split", [projected], names, f"{name}.split", axis=-1))
        return names


def embeddings(graph, weights):
    """Ids -> [batch, tokens, WIDTH]."""
    # All tokens have type 0.
    position = weights.position.astype(np.float64) + weights.token_type[0].astype(np.float64)
    words = graph.rows("word", weights.word, "input_ids")
    length = graph.node("Shape", ["input_ids"], "length.list", start=1)
    length = graph.node("Squeeze", [length], "length")
    zero, one = graph.constant("zero", 0, np.int64), graph.constant("one", 1, np.int64)
    numbers = graph.node("Range", [zero, length, one], "positions")
    places = graph.rows("position", position, numbers)
    return graph.norm("embeddings", graph.node("Add", [words, places], "tokens"), weights.norm)


def wide_mask(graph, *axes):
    """attention_mask in float32, with more axes."""
    name = f"mask{len(axes)}"
    mask = graph.node("Cast", ["attention_mask"], f"{name}.float", to=TensorProto.FLOAT)
    return graph.node("Unsqueeze", [mask, graph.constant(f"{name}.axes", axes, np.int64)], name)


def mask_bias(graph):
    """attention_mask -> what is added to scores, [batch, 1, 1, tokens]."""
    one = graph.constant("mask.one", 1, np.float32)
    inverse = graph.node("Sub", [one, wide_mask(graph, 1, 2)], "mask.inverse")
    return graph.node("Mul", [inverse, graph.constant("mask.lowest", LOWEST, np.float32)], "mask")


def heads(graph, x, order):
    """x [batch, tokens, WIDTH] split into heads, axes put in `order`."""
    split = graph.reshaped(f"{x}.split", x, 0, 0, HEADS, WIDTH // HEADS)
    return graph.node("Transpose", [split], f"{x}.heads", perm=order)


def attention(graph, name, x, layer, mask):
    """Scaled dot-product attention written out; [batch, tokens, WIDTH] in and out."""
    query, key, value = graph.projections(name, x, layer)
    query, key = heads(graph, query, [0, 2, 1, 3]), heads(graph, key, [0, 2, 3, 1])
    value = heads(graph, value, [0, 2, 1, 3])
    scores = graph.node("MatMul", [query, key], f"{name}.scores.raw")
    root = graph.constant(f"{name}.root", math.sqrt(WIDTH // HEADS), np.float32)
    scores = graph.node("Div", [scores, root], f"{name}.scores.scaled")
    scores = graph.node("Add", [scores, mask], f"{name}.scores")
    shares = graph.node("Softmax", [scores], f"{name}.shares", axis=-1)
    context = graph.node("MatMul", [shares, value], f"{name}.context.heads")
    context = graph.node("Transpose", [context], f"{name}.context.moved", perm=[0, 2, 1, 3])
    context = graph.reshaped(f"{name}.context", context, 0, 0, WIDTH)
    return graph.linear(f"{name}.output", context, layer.output)


def gelu(graph, name, x):
    """x (1 + erf(x / sqrt 2)) / 2, in the five operations of the exporter of PyTorch."""
    root = graph.constant(f"{name}.root", math.sqrt(2), np.float32)
    one = graph.constant(f"{name}.one", 1, np.float32)
    half = graph.constant(f"{name}.half", 0.5, np.float32)
    inner = graph.node("Div", [x, root], f"{name}.div")
    inner = graph.node("Erf", [inner], f"{name}.erf")
    inner = graph.node("Add", [inner, one], f"{name}.add")
    inner = graph.node("Mul", [x, inner], f"{name}.mul")
    return graph.node("Mul", [inner, half], name)


def encoder_layer(graph, name, x, layer, mask):
    """[batch, tokens, WIDTH] in and out."""
    attended = attention(graph, name, x, layer, mask)
    summed = graph.node("Add", [attended, x], f"{name}.attention_sum")
    h = graph.norm(f"{name}.attention_norm", summed, layer.attention_norm)
    wide = gelu(graph, f"{name}.gelu", graph.linear(f"{name}.up", h, layer.up))
    narrow = graph.linear(f"{name}.down", wide, layer.down)
    summed = graph.node("Add", [narrow, h], f"{name}.ffn_sum")
    return graph.norm(f"{name}.ffn_norm", summed, layer.ffn_norm)


def encoder(graph, weights):
    """Write the whole encoder; the name of the vectors of tokens, [batch, tokens, WIDTH]."""
    x = embeddings(graph, weights)
    mask = mask_bias(graph)
    for index, layer in enumerate(weights.layers):
        x = encoder_layer(graph, f"layer{index}", x, layer, mask)
    return x


def pooled(graph, x):
    """Vectors of tokens -> `sentence_embedding`, their mean scaled to length 1, [batch, WIDTH]."""
    masked = graph.node("Mul", [x, wide_mask(graph, 2)], "masked")
    axis = graph.constant("tokens.axis", [1], np.int64)
    summed = graph.node("ReduceSum", [masked, axis], "sum", keepdims=0)
    # The number of tokens cancels out.
    length = graph.node("ReduceL2", [summed], "sum.length", axes=[-1], keepdims=1)
    graph.node("Div", [summed, length], "sentence_embedding")
    return graph.model("all-MiniLM-L6-v2", "sentence_embedding", ["batch", WIDTH])
