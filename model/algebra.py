"""Exact algebra on the weights, so that the graph needs fewer operations for the same numbers.

With x the input of a layer (the output of the LayerNorm before it), h its attention LayerNorm's
output, and every W the matrix as it is decoded from storage:

  scores:  softmax over keys ignores what is equal for all keys, so the key bias drops out.
  output projection:  LN(x + a Wo + bo) = LN((x + bo) + a Wo). The bias bo moves into the beta of
      the LayerNorm that makes x; the residual sum then is one Gemm with C = x + bo.
      The projections read x + bo too, hence bq' = bq - bo Wq and bv' = bv - bo Wv.
  FFN:  in the same way b2 moves into the beta that makes h, and b1' = b1 - b2 W1.

Sums are exactly rounded (math.fsum) over float64 products, which are exact for float32 factors:
no BLAS, no order of summation, and so the same bytes on every machine.
"""

import math
from dataclasses import dataclass

import numpy as np

from storage import Quantised, quantise
from weights import Norm


@dataclass(frozen=True)
class FoldedLayer:
    """One layer as the graph computes it.

    qkv [WIDTH, 3 WIDTH], qkv_bias [3 WIDTH] (its key third is zero), output [WIDTH, WIDTH],
    up [WIDTH, FFN], up_bias [FFN], down [FFN, WIDTH]; the norms carry the moved biases.
    """

    qkv: Quantised
    qkv_bias: np.ndarray
    output: Quantised
    attention_norm: Norm
    up: Quantised
    up_bias: np.ndarray
    down: Quantised
    ffn_norm: Norm


@dataclass(frozen=True)
class Folded:
    """word [VOCABULARY, WIDTH], position [POSITIONS, WIDTH] with token type 0 added in."""

    word: Quantised
    position: Quantised
    norm: Norm
    layers: tuple


def vector_times_matrix(vector, matrix):
    """float32 [k] times float32 [k, n]: exactly rounded float64 [n]."""
    products = vector.astype(np.float64)[:, None] * matrix.astype(np.float64)
    return np.array([math.fsum(column) for column in products.T.tolist()])


def compensated(bias, moved, matrix):
    """The bias that makes (x + moved) @ matrix + result equal x @ matrix + bias; float32 [n]."""
    return (bias.astype(np.float64) - vector_times_matrix(moved, matrix)).astype(np.float32)


def with_shift(norm, moved):
    """`norm` with `moved` [WIDTH] added to everything it puts out."""
    beta = (norm.beta.astype(np.float64) + moved.astype(np.float64)).astype(np.float32)
    return Norm(norm.gamma, beta)


def fold_layer(layer, moved_out):
    """Fold one layer; `moved_out` [WIDTH] is what its last LayerNorm adds for the next layer."""
    width = layer.query.weight.shape[0]
    qkv = np.concatenate([layer.query.weight, layer.key.weight, layer.value.weight], axis=1)
    qkv = quantise(qkv, axis=0)
    decoded = qkv.decoded()
    moved_in = layer.output.bias
    qkv_bias = np.concatenate(
        [
            compensated(layer.query.bias, moved_in, decoded[:, :width]),
            np.zeros(width, dtype=np.float32),
            compensated(layer.value.bias, moved_in, decoded[:, 2 * width :]),
        ]
    )
    up = quantise(layer.up.weight, axis=0)
    return FoldedLayer(
        qkv=qkv,
        qkv_bias=qkv_bias,
        output=quantise(layer.output.weight, axis=0),
        attention_norm=with_shift(layer.attention_norm, layer.down.bias),
        up=up,
        up_bias=compensated(layer.up.bias, layer.down.bias, up.decoded()),
        down=quantise(layer.down.weight, axis=0),
        ffn_norm=with_shift(layer.ffn_norm, moved_out),
    )


def fold(weights):
    """Fold the whole encoder."""
    layers = weights.layers
    nothing = np.zeros_like(layers[-1].output.bias)
    moved = [layer.output.bias for layer in layers] + [nothing]
    position = weights.position.astype(np.float64) + weights.token_type[0].astype(np.float64)
    return Folded(
        word=quantise(weights.word, axis=1),
        position=quantise(position, axis=1),
        norm=with_shift(weights.norm, moved[0]),
        layers=tuple(fold_layer(layer, moved[i + 1]) for i, layer in enumerate(layers)),
    )
