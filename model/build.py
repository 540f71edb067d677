"""Build the embedding model from the published weights.

    python model/build.py --weights DIR --out DIR

DIR of --weights holds `model.safetensors` and `tokenizer.json`; both digests are verified.
"""

import json
import shutil
from pathlib import Path

from blake3 import blake3

import graph
import vocabulary
import weights

LICENSE_FILE = Path(__file__).resolve().parent / "LICENSE"
GRAPH_NAME = "exact.onnx"
DATA_NAME = "model.bin"
TOKENIZER_NAME = "tokenizer.json"
VOCABULARY_NAME = "vocabulary.bin"
NAMES = (GRAPH_NAME, DATA_NAME, VOCABULARY_NAME)


def manifest(out, tokenizer):
    """What the loader needs to know, with the size and digest of every file it reads.

    The digest of the published tokenizer is part of the model's fingerprint.
    """
    pins = weights.model_pins()
    files = []
    for name in NAMES:
        content = (out / name).read_bytes()
        # The loader digests 46 MB at every start: BLAKE3 does it several times faster than SHA-256.
        digest = blake3(content).hexdigest()
        files.append({"name": name, "bytes": len(content), "blake3": digest})
    return {
        "format": 3,
        "name": pins["name"],
        "revision": pins["revision"],
        "dimensions": weights.WIDTH,
        "maxTokens": weights.POSITIONS,
        "license": pins["license"],
        "tokenizer": blake3(tokenizer).hexdigest(),
        "files": files,
    }


def build(source, out):
    """Write the model's files into `out`, the manifest last."""
    source, out = Path(source), Path(out)
    made = graph.Graph(DATA_NAME)
    model = graph.encoder_graph(made, weights.read(source))
    out.mkdir(parents=True, exist_ok=True)
    (out / GRAPH_NAME).write_bytes(model.SerializeToString(deterministic=True))
    (out / DATA_NAME).write_bytes(made.store.data)
    tokenizer = (source / TOKENIZER_NAME).read_bytes()
    (out / VOCABULARY_NAME).write_bytes(vocabulary.packed(tokenizer))
    shutil.copyfile(LICENSE_FILE, out / "LICENSE")
    text = json.dumps(manifest(out, tokenizer), indent=2) + "\n"
    (out / "manifest.json").write_bytes(text.encode("utf-8"))


if __name__ == "__main__":
    weights.convert(build, "Build the embedding model.")
