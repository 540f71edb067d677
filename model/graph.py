"""The ONNX graph: token ids of one text in, its unit vector out.

Input `input_ids` int64 [tokens], 1 to 512 tokens; output `embedding` float32 [WIDTH].
One text has no padding, so there is no batch axis, no mask and no token types.

What the operators of the domain OURS compute is said, in numpy, by operators.py.
"""

import numpy as np
from onnx import TensorProto, helper

from storage import Store, quantise, to_panels
from weights import WIDTH, Linear

OURS = "knowledgepulse"

# Old enough for every ONNX Runtime from 1.17 on.
IR_VERSION = 8
OPSET = 17


class Graph:
    """Nodes in the order in which they are made, and the store of their constants.

    `location` is the file of the constants; without one, they are in that of the graph.
    """

    def __init__(self, location=None):
        self.store = Store(location)
        self.nodes = []

    def node(self, operator, inputs, output, domain="", **attributes):
        """Append a node with one output named `output`; return that name."""
        self.nodes.append(
            helper.make_node(operator, inputs, [output], output, domain=domain, **attributes)
        )
        return output

    def table(self, name, table):
        """The words of a table, and a scale for each of its rows."""
        quantised = quantise(table, axis=1)
        values = self.store.add(f"{name}.values", quantised.values)
        return values, self.store.add(f"{name}.scale", quantised.scale[:, 0])

    def norm(self, name, x, norm):
        """LayerNorm over the last axis of x [tokens, WIDTH]."""
        gamma = self.store.add(f"{name}.gamma", norm.gamma)
        beta = self.store.add(f"{name}.beta", norm.beta)
        return self.node("LayerNorm", [x, gamma, beta], name, OURS)

    def linear(self, name, x, linear, residual=(), gelu=0):
        """gelu?(x @ weight + bias + residual) on int16 words; `residual` is one name or none."""
        quantised = quantise(linear.weight, axis=0)
        weight = self.store.add(f"{name}.weight", to_panels(quantised.values))
        scale = self.store.add(f"{name}.scale", quantised.scale[0])
        bias = self.store.add(f"{name}.bias", linear.bias)
        inputs = [x, weight, scale, bias, *residual]
        return self.node("Linear", inputs, name, OURS, gelu=gelu)

    def model(self, name, inputs, output, *domains):
        """The ModelProto of all nodes; `domains` are those of operators that ONNX does not have."""
        graph = helper.make_graph(self.nodes, name, inputs, [output], self.store.tensors)
        opsets = [helper.make_opsetid("", OPSET)]
        opsets += [helper.make_opsetid(domain, 1) for domain in domains]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def embeddings(graph, weights, ids):
    """ids [tokens] -> [tokens, WIDTH]; only the rows looked up are decoded, never the table."""
    # All tokens have type 0.
    position = weights.position.astype(np.float64) + weights.token_type[0].astype(np.float64)
    tables = graph.table("word", weights.word) + graph.table("position", position)
    summed = graph.node("TokenEmbeddings", [ids, *tables], "tokens", OURS)
    return graph.norm("embeddings", summed, weights.norm)


def encoder_layer(graph, name, x, layer):
    """x [tokens, WIDTH] -> [tokens, WIDTH]."""
    parts = (layer.query, layer.key, layer.value)
    weight = np.concatenate([part.weight for part in parts], axis=1)
    bias = np.concatenate([part.bias for part in parts])
    qkv = graph.linear(f"{name}.qkv", x, Linear(weight, bias))
    heads = graph.node("SelfAttention", [qkv], f"{name}.attended", OURS)
    summed = graph.linear(f"{name}.output", heads, layer.output, residual=[x])
    h = graph.norm(f"{name}.attention_norm", summed, layer.attention_norm)
    wide = graph.linear(f"{name}.up", h, layer.up, gelu=1)
    summed = graph.linear(f"{name}.down", wide, layer.down, residual=[h])
    return graph.norm(f"{name}.ffn_norm", summed, layer.ffn_norm)


def encoder_graph(graph, weights):
    """Write the whole encoder into `graph`; its ModelProto."""
    x = embeddings(graph, weights, "input_ids")
    for index, layer in enumerate(weights.layers):
        x = encoder_layer(graph, f"layer{index}", x, layer)
    graph.node("Pool", [x], "embedding", OURS)
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["tokens"])
    embedding = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [WIDTH])
    return graph.model("all-MiniLM-L6-v2", [ids], embedding, OURS)
