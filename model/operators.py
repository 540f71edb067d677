"""The operators of the domain `knowledgepulse` in numpy: what src/embedder/kernels computes.

Plain and slow, for the tests. A weight is [n / 16, k, 16] int16 with a float32 scale per column.
The Hadamard transform H is orthogonal but for its length, and spreads the few large numbers of a
row over `rotation` of them, so that rounding the row to int8 gets finer. Both factors of a
product are transformed: x @ W = (x H) @ (H W) / rotation (as in https://arxiv.org/abs/2404.00456).
"""

import numpy as np
from onnx.reference.op_run import OpRun

import reference
from graph import OURS, ZERO_POINT
from storage import from_panels
from weights import HEADS

LARGEST = np.float32(127)


def rotated(rows, rotation):
    """[m, k] -> rows @ H: sums and differences of columns k/2 apart, then k/4 ... k/rotation."""
    stride = rows.shape[1] // 2
    for _ in range(rotation.bit_length() - 1):
        halves = rows.reshape(len(rows), -1, 2, stride)
        first, second = halves[:, :, 0], halves[:, :, 1]
        rows = np.stack([first + second, first - second], axis=2).reshape(rows.shape)
        stride //= 2
    return rows


def rounded(rows):
    """float32 rows as integers from -127 to 127 in float32, and what 127 stands for in each."""
    largest = np.abs(rows).max(axis=1)
    factor = np.divide(LARGEST, largest, out=np.zeros_like(largest), where=largest > 0)
    return np.rint(rows * factor[:, None]), largest


def finished(y, bias, residual, gelu):
    """What follows a product: bias, residual sum, activation."""
    y = y + bias
    if residual is not None:
        y = y + residual
    return reference.gelu(y.astype(np.float64)) if gelu else y


class TokenEmbeddings(OpRun):
    """ids [m] -> the rows of two int16 tables, that of the token and that of its place, added."""

    op_domain = OURS

    def _run(self, ids, word, word_scale, position, position_scale):
        rows = word[ids].astype(np.float32) * word_scale[ids, None]
        count = len(ids)
        return (rows + position[:count].astype(np.float32) * position_scale[:count, None],)


class LayerNorm(OpRun):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta along the rows of x [m, n]."""

    op_domain = OURS

    def _run(self, x, gamma, beta, epsilon=None):
        x = x.astype(np.float64)
        x = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt((x * x).mean(axis=1, keepdims=True) + epsilon)
        return ((x / deviation * gamma + beta).astype(np.float32),)


class Pool(OpRun):
    """x [m, n] -> the mean of the rows [n], scaled to length 1."""

    op_domain = OURS

    def _run(self, x):
        mean = x.astype(np.float64).mean(axis=0)
        return ((mean / np.linalg.norm(mean)).astype(np.float32),)


class Linear(OpRun):
    """gelu?(x @ (weight * scale) + bias + residual); float32 [m, k] -> [m, n]."""

    op_domain = OURS

    def _run(self, x, weight, scale, bias, residual=None, gelu=None):
        product = x.astype(np.float64) @ from_panels(weight) * scale
        return (finished(product, bias, residual, gelu).astype(np.float32),)


class SelfAttention(OpRun):
    """qkv [m, 3 width] -> [m, width]: softmax(q k^T / sqrt d) v in each head."""

    op_domain = OURS

    def _run(self, qkv, heads=None):
        assert heads == HEADS
        parts = np.split(qkv.astype(np.float64), 3, axis=1)
        return (reference.scaled_attention(*parts).astype(np.float32),)


class QuantizeWeights(OpRun):
    """The int8 weight [k, n] of a rotated int16 one, and the scale [n] of its product with rows.

    Rotating integers is exact in float32, so that every machine gets the same.
    """

    op_domain = OURS

    def _run(self, weight, scale, rotation=None):
        columns = from_panels(weight).T.astype(np.float32)
        values, largest = rounded(rotated(columns, rotation))
        scale = scale * largest / (LARGEST * np.float32(rotation))
        return np.ascontiguousarray(values.T.astype(np.int8)), scale


class QuantizeRows(OpRun):
    """Rotated rows as uint8 [m, k] about ZERO_POINT, and a scale for each [m]."""

    op_domain = OURS

    def _run(self, x, rotation=None):
        values, largest = rounded(rotated(x, rotation))
        return (values + ZERO_POINT).astype(np.uint8), largest / LARGEST


class Rescale(OpRun):
    """gelu?(product * row_scale * scale + bias + residual); int32 [m, n] -> float32."""

    op_domain = OURS

    def _run(self, product, row_scale, scale, bias, residual=None, gelu=None):
        y = product.astype(np.float32) * (row_scale[:, None] * scale)
        return (finished(y, bias, residual, gelu).astype(np.float32),)


ALL = [
    TokenEmbeddings,
    LayerNorm,
    Pool,
    Linear,
    SelfAttention,
    QuantizeWeights,
    QuantizeRows,
    Rescale,
]
