"""The encoder as it is stored: what the graph is made of."""

from dataclasses import dataclass

import numpy as np

from storage import Quantised, quantise
from weights import Linear, Norm


@dataclass(frozen=True)
class StoredLinear:
    """weight [in, out] with a scale per output; bias float32 [out]."""

    weight: Quantised
    bias: np.ndarray


@dataclass(frozen=True)
class StoredLayer:
    """One layer; qkv is query, key and value side by side, [WIDTH, 3 WIDTH]."""

    qkv: StoredLinear
    output: StoredLinear
    attention_norm: Norm
    up: StoredLinear
    down: StoredLinear
    ffn_norm: Norm


@dataclass(frozen=True)
class StoredEncoder:
    """word [VOCABULARY, WIDTH], position [POSITIONS, WIDTH] with token type 0 added in."""

    word: Quantised
    position: Quantised
    norm: Norm
    layers: tuple


def stored_linear(linear):
    return StoredLinear(quantise(linear.weight, axis=0), linear.bias)


def stored_layer(layer):
    parts = (layer.query, layer.key, layer.value)
    weight = np.concatenate([part.weight for part in parts], axis=1)
    bias = np.concatenate([part.bias for part in parts])
    return StoredLayer(
        qkv=stored_linear(Linear(weight, bias)),
        output=stored_linear(layer.output),
        attention_norm=layer.attention_norm,
        up=stored_linear(layer.up),
        down=stored_linear(layer.down),
        ffn_norm=layer.ffn_norm,
    )


def stored(weights):
    """Weights -> StoredEncoder."""
    position = weights.position.astype(np.float64) + weights.token_type[0].astype(np.float64)
    return StoredEncoder(
        word=quantise(weights.word, axis=1),
        position=quantise(position, axis=1),
        norm=weights.norm,
        layers=tuple(stored_layer(layer) for layer in weights.layers),
    )
