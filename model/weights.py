"""The published weights: read, verified, and renamed to what they are in the encoder.

Source: sentence-transformers/all-MiniLM-L6-v2, `model.safetensors`, a BERT encoder of 6 layers.
PyTorch keeps a linear layer as [out, in]; everything here is [in, out], as ONNX multiplies.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

PINS_FILE = Path(__file__).resolve().parent.parent / "tools" / "pins.json"

LAYERS = 6
WIDTH = 384
HEADS = 12
FFN = 1536
VOCABULARY = 30522
POSITIONS = 512
EPSILON = 1e-12


class WrongFile(Exception):
    """A source file is missing or is not the published one."""


@dataclass(frozen=True)
class Norm:
    """A LayerNorm: gain and shift, both float32 [WIDTH]."""

    gamma: np.ndarray
    beta: np.ndarray


@dataclass(frozen=True)
class Linear:
    """x @ weight + bias; weight float32 [in, out], bias float32 [out]."""

    weight: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True)
class Layer:
    """One encoder layer; the norms come after the residual sums (post-norm)."""

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    attention_norm: Norm
    up: Linear
    down: Linear
    ffn_norm: Norm


@dataclass(frozen=True)
class Weights:
    """word [VOCABULARY, WIDTH], position [POSITIONS, WIDTH], token_type [2, WIDTH]."""

    word: np.ndarray
    position: np.ndarray
    token_type: np.ndarray
    norm: Norm
    layers: tuple


def model_pins():
    """The entry of tools/pins.json that says which model this is, with its files' digests."""
    return json.loads(PINS_FILE.read_text(encoding="utf-8"))["model"]


def verify(folder):
    """Raise WrongFile unless every pinned file in `folder` is the published one, byte for byte."""
    for name, expected in model_pins()["files"].items():
        path = Path(folder) / name
        if not path.is_file():
            raise WrongFile(f"{path}: no such file")
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != expected:
            raise WrongFile(f"{path}: expected sha256 {expected}, found {found}")


def read(folder):
    """Verify `folder` and return its Weights."""
    verify(folder)
    tensors = load_file(Path(folder) / "model.safetensors")

    def linear(name):
        weight = np.ascontiguousarray(tensors[f"{name}.weight"].T)
        return Linear(weight, tensors[f"{name}.bias"])

    def norm(name):
        return Norm(tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    def layer(index):
        prefix = f"encoder.layer.{index}"
        return Layer(
            query=linear(f"{prefix}.attention.self.query"),
            key=linear(f"{prefix}.attention.self.key"),
            value=linear(f"{prefix}.attention.self.value"),
            output=linear(f"{prefix}.attention.output.dense"),
            attention_norm=norm(f"{prefix}.attention.output.LayerNorm"),
            up=linear(f"{prefix}.intermediate.dense"),
            down=linear(f"{prefix}.output.dense"),
            ffn_norm=norm(f"{prefix}.output.LayerNorm"),
        )

    return Weights(
        word=tensors["embeddings.word_embeddings.weight"],
        position=tensors["embeddings.position_embeddings.weight"],
        token_type=tensors["embeddings.token_type_embeddings.weight"],
        norm=norm("embeddings.LayerNorm"),
        layers=tuple(layer(index) for index in range(LAYERS)),
    )
