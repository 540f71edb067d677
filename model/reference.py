"""The encoder in plain numpy, float64, straight from the published weights.

An independent statement of what the graph has to compute; slow, and used by tests only.
"""

import math

import numpy as np

from weights import EPSILON, HEADS, WIDTH

erf = np.vectorize(math.erf, otypes=[np.float64])


def norm(x, parameters):
    """LayerNorm over the last axis (https://arxiv.org/abs/1607.06450)."""
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
    return centred / deviation * parameters.gamma + parameters.beta


def linear(x, parameters):
    return x @ parameters.weight.astype(np.float64) + parameters.bias


def gelu(x):
    """The exact form, not the tanh one (https://arxiv.org/abs/1606.08415)."""
    return x * (1 + erf(x / math.sqrt(2))) / 2


def split_heads(x):
    """[tokens, WIDTH] -> [HEADS, tokens, WIDTH / HEADS]."""
    return x.reshape(len(x), HEADS, -1).transpose(1, 0, 2)


def scaled_attention(query, key, value):
    """All [tokens, WIDTH]; softmax(q k^T / sqrt d) v for each head, heads side by side."""
    query, key, value = split_heads(query), split_heads(key), split_heads(value)
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return (shares @ value).transpose(1, 0, 2).reshape(-1, WIDTH)


def encoder_layer(x, layer):
    attended = scaled_attention(
        linear(x, layer.query), linear(x, layer.key), linear(x, layer.value)
    )
    h = norm(x + linear(attended, layer.output), layer.attention_norm)
    return norm(h + linear(gelu(linear(h, layer.up)), layer.down), layer.ffn_norm)


def embed(weights, ids):
    """ids int64 [tokens] -> unit vector float64 [WIDTH]: mean over tokens, L2-normalised."""
    x = weights.word[ids].astype(np.float64)
    x = x + weights.position[: len(ids)] + weights.token_type[0]
    x = norm(x, weights.norm)
    for layer in weights.layers:
        x = encoder_layer(x, layer)
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)
