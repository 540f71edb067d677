"""The ONNX graphs: token ids of one text in, its unit vector out.

Input `input_ids` int64 [tokens], 1 to 512 tokens; output `embedding` float32 [WIDTH].
One text has no padding, so there is no batch axis, no mask and no token types.

The exact and the fast graph differ in how they multiply with a weight, and read one file of
constants. The int8 weights of the fast one are in no file: a third graph, which the loader runs
once, makes them from the int16 words. ONNX Runtime folds constants only through operators of its
own. What the operators of the domain OURS compute is said, in numpy, by operators.py.
"""

import numpy as np
from onnx import TensorProto, helper

from storage import Store, to_panels
from weights import EPSILON, FFN, HEADS, WIDTH

OURS = "knowledgepulse"

# Old enough for every ONNX Runtime from 1.17 on.
IR_VERSION = 8
OPSET = 17

# Of the uint8 rows: QuantizeRows is symmetric.
ZERO_POINT = 128

# Size of the Hadamard transform before a rounding to int8, by inputs of the linear layer. It adds
# numbers that lie inputs / 2, inputs / 4 ... inputs / size = 24 apart: whole SIMD registers.
ROTATIONS = {WIDTH: 16, FFN: 64}


class Graph:
    """Nodes in the order in which they are made, and the store of their constants."""

    def __init__(self, data=None):
        self.store = Store(data)
        self.nodes = []

    def node(self, operator, inputs, output, domain="", **attributes):
        """Append a node with one output named `output`; return that name."""
        self.several(operator, inputs, [output], domain, **attributes)
        return output

    def several(self, operator, inputs, outputs, domain="", **attributes):
        """Append a node with these outputs, named after the first."""
        self.nodes.append(
            helper.make_node(operator, inputs, outputs, outputs[0], domain=domain, **attributes)
        )

    def table(self, name, quantised):
        """The words of a table, and a scale for each of its rows."""
        values = self.store.add(f"{name}.values", quantised.values)
        return values, self.store.add(f"{name}.scale", quantised.scale[:, 0])

    def norm(self, name, x, norm):
        """LayerNorm over the last axis of x [tokens, WIDTH]."""
        gamma = self.store.add(f"{name}.gamma", norm.gamma)
        beta = self.store.add(f"{name}.beta", norm.beta)
        return self.node("LayerNorm", [x, gamma, beta], name, OURS, epsilon=EPSILON)


class ExactGraph(Graph):
    """float32 arithmetic on the int16 words."""

    def linear(self, name, x, linear, residual=(), gelu=0):
        """gelu?(x @ weight + bias + residual); `residual` is one name or none."""
        weight = panels(self, name, linear)
        bias = self.store.add(f"{name}.bias", linear.bias)
        return self.node("Linear", [x, *weight, bias, *residual], name, OURS, gelu=gelu)


class FastGraph(Graph):
    """int8 products, everything else in float32. The loader hands over the int8 weights.

    `weight_type` is np.int8, or np.uint8 for weights about ZERO_POINT: the same products, for
    processors whose instruction for uint8 times int8 saturates.
    """

    def __init__(self, data, weight_type):
        super().__init__(data)
        self.weight_type = weight_type
        zero_point = self.store.add("zero_point", np.array(ZERO_POINT, dtype=np.uint8))
        self.zero_points = [zero_point] * (1 if weight_type == np.int8 else 2)

    def linear(self, name, x, linear, residual=(), gelu=0):
        """The same up to rounding."""
        (weight, shape), (scale, columns) = int8_constants(name, linear)
        self.store.supplied(weight, self.weight_type, shape)
        self.store.supplied(scale, np.float32, columns)
        rows = [f"{name}.rows", f"{name}.row_scale"]
        self.several("QuantizeRows", [x], rows, OURS, rotation=ROTATIONS[shape[0]])
        product = [rows[0], weight, *self.zero_points]
        product = self.node("MatMulInteger", product, f"{name}.product")
        bias = self.store.add(f"{name}.bias", linear.bias)
        inputs = [product, rows[1], scale, bias, *residual]
        return self.node("Rescale", inputs, name, OURS, gelu=gelu)


def panels(graph, name, linear):
    """The stored weight as the inputs of an operator: words and scale."""
    words = graph.store.add(f"{name}.weight", to_panels(linear.weight.values))
    return words, graph.store.add(f"{name}.scale", linear.weight.scale[0])


def int8_constants(name, linear):
    """Name and shape of the int8 weight and of its scale."""
    shape = linear.weight.values.shape
    return (f"{name}.int8", shape), (f"{name}.int8.scale", shape[1:])


def layers(encoder):
    """Name and content of each layer."""
    return ((f"layer{index}", layer) for index, layer in enumerate(encoder.layers))


def embeddings(graph, encoder, ids):
    """ids [tokens] -> [tokens, WIDTH]; only the rows looked up are decoded, never the table."""
    tables = graph.table("word", encoder.word) + graph.table("position", encoder.position)
    summed = graph.node("TokenEmbeddings", [ids, *tables], "tokens", OURS)
    return graph.norm("embeddings", summed, encoder.norm)


def encoder_layer(graph, name, x, layer):
    """x [tokens, WIDTH] -> [tokens, WIDTH]."""
    qkv = graph.linear(f"{name}.qkv", x, layer.qkv)
    heads = graph.node("SelfAttention", [qkv], f"{name}.attended", OURS, heads=HEADS)
    summed = graph.linear(f"{name}.output", heads, layer.output, residual=[x])
    h = graph.norm(f"{name}.attention_norm", summed, layer.attention_norm)
    wide = graph.linear(f"{name}.up", h, layer.up, gelu=1)
    summed = graph.linear(f"{name}.down", wide, layer.down, residual=[h])
    return graph.norm(f"{name}.ffn_norm", summed, layer.ffn_norm)


def model(graph, name, inputs, outputs):
    """The ModelProto; `inputs` and `outputs` are rows of name, element type and shape."""
    infos = [[helper.make_tensor_value_info(*row) for row in rows] for rows in (inputs, outputs)]
    proto = helper.make_graph(graph.nodes, name, *infos, graph.store.tensors)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(OURS, 1)]
    return helper.make_model(proto, opset_imports=opsets, ir_version=IR_VERSION)


def encoder_graph(graph, encoder):
    """Write the whole encoder into `graph`, an ExactGraph or a FastGraph; its ModelProto."""
    x = embeddings(graph, encoder, "input_ids")
    for name, layer in layers(encoder):
        x = encoder_layer(graph, name, x, layer)
    graph.node("Pool", [x], "embedding", OURS)
    ids = ("input_ids", TensorProto.INT64, ["tokens"])
    return model(graph, "all-MiniLM-L6-v2", [ids], [("embedding", TensorProto.FLOAT, [WIDTH])])


def int8_graph(graph, encoder):
    """Write into `graph` what makes the constants that a FastGraph lacks; its ModelProto."""
    outputs = []
    for name, layer in layers(encoder):
        for part in ("qkv", "output", "up", "down"):
            linear = getattr(layer, part)
            weight, scale = int8_constants(f"{name}.{part}", linear)
            outputs += [(weight[0], TensorProto.INT8, weight[1])]
            outputs += [(scale[0], TensorProto.FLOAT, scale[1])]
            words = panels(graph, f"{name}.{part}", linear)
            rotation = ROTATIONS[weight[1][0]]
            made = [weight[0], scale[0]]
            graph.several("QuantizeWeights", words, made, OURS, rotation=rotation)
    return model(graph, "all-MiniLM-L6-v2-int8", [], outputs)
