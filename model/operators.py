"""The operators of the domain `knowledgepulse` in numpy: what crates/embedder/src/kernels computes.

Plain and slow, for the tests. A weight is [n / 16, k, 16] int16 with a float32 scale per column.
"""

import numpy as np
from onnx.reference.op_run import OpRun

import reference
from graph import OURS
from storage import from_panels
from weights import Norm


class Operator(OpRun):
    op_domain = OURS


class TokenEmbeddings(Operator):
    """ids [m] -> the rows of two int16 tables, that of the token and that of its place, added."""

    def _run(self, ids, word, word_scale, position, position_scale):
        rows = word[ids].astype(np.float32) * word_scale[ids, None]
        count = len(ids)
        return (rows + position[:count].astype(np.float32) * position_scale[:count, None],)


class LayerNorm(Operator):
    """(x - mean) / sqrt(variance + 1e-12) * gamma + beta along the rows of x [m, n]."""

    def _run(self, x, gamma, beta):
        return (reference.norm(x.astype(np.float64), Norm(gamma, beta)).astype(np.float32),)


class Pool(Operator):
    """x [m, n] -> the mean of the rows [n], scaled to length 1."""

    def _run(self, x):
        mean = x.astype(np.float64).mean(axis=0)
        return ((mean / np.linalg.norm(mean)).astype(np.float32),)


class Linear(Operator):
    """gelu?(x @ (weight * scale) + bias + residual); float32 [m, k] -> [m, n]."""

    def _run(self, x, weight, scale, bias, residual=None, gelu=None):
        y = x.astype(np.float64) @ from_panels(weight) * scale + bias
        if residual is not None:
            y = y + residual
        return ((reference.gelu(y) if gelu else y).astype(np.float32),)


class SelfAttention(Operator):
    """qkv [m, 3 width] -> [m, width]: softmax(q k^T / sqrt d) v in each head."""

    def _run(self, qkv):
        parts = np.split(qkv.astype(np.float64), 3, axis=1)
        return (reference.scaled_attention(*parts).astype(np.float32),)


ALL = [TokenEmbeddings, LayerNorm, Pool, Linear, SelfAttention]
