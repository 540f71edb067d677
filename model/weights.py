"""The published weights: read, verified, and renamed to what they are in the encoder.

Source: sentence-transformers/all-MiniLM-L6-v2, `model.safetensors`, a BERT encoder of 6 layers.
PyTorch keeps a linear layer as [out, in]; everything here is [in, out], as ONNX multiplies.
"""

import argparse
import hashlib
import json
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

PINS_FILE = Path(__file__).resolve().parent / "pins.json"

LAYERS = 6
WIDTH = 384
HEADS = 12
FFN = 1536
VOCABULARY = 30522
POSITIONS = 512
EPSILON = 1e-12


class WrongFile(Exception):
    """A source file is missing or is not the published one."""


# A LayerNorm: gain and shift, both float32 [WIDTH].
Norm = namedtuple("Norm", "gamma beta")

# x @ weight + bias; weight float32 [in, out], bias float32 [out].
Linear = namedtuple("Linear", "weight bias")

# The norms come after the residual sums (post-norm).
Layer = namedtuple("Layer", "query key value output attention_norm up down ffn_norm")

# word [VOCABULARY, WIDTH], position [POSITIONS, WIDTH], token_type [2, WIDTH].
Weights = namedtuple("Weights", "word position token_type norm layers")


def model_pins():
    """The entry of pins.json that says which model this is, with its files' digests."""
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


def convert(build, description):
    """Run `build` as a program, with the folders that the command line names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--weights", required=True, help="folder with the published files")
    parser.add_argument("--out", required=True, help="folder to write into")
    options = parser.parse_args()
    try:
        build(options.weights, options.out)
    except WrongFile as error:
        sys.exit(f"{parser.prog}: {error}")
