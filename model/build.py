"""Build the embedding model from the published weights.

    python model/build.py --weights DIR --out DIR

DIR of --weights holds `model.safetensors` and `tokenizer.json`; both digests are verified.
"""

import json
import shutil
from pathlib import Path

from blake3 import blake3

import checksum
import graph
import vocabulary
import weights

LICENSE_FILE = Path(__file__).resolve().parent / "LICENSE"
GRAPH_NAME = "model.onnx"
DATA_NAME = "model.bin"
TOKENIZER_NAME = "tokenizer.json"
VOCABULARY_NAME = "vocabulary.bin"
NAMES = (GRAPH_NAME, DATA_NAME, VOCABULARY_NAME)


def fingerprint(name, data, tokenizer):
    """The name of the vectors of this model, for stores and snapshots: of all that determines them."""
    digests = [blake3(content).hexdigest() for content in (data, tokenizer)]
    hasher = blake3()
    for part in (name, str(weights.WIDTH), str(weights.POSITIONS), *digests):
        # With the length, different parts never give the same bytes.
        hasher.update(len(part).to_bytes(8, "little") + part.encode())
    return hasher.hexdigest()


def manifest(out, tokenizer):
    """What the loader needs to know, with the size and checksum of every file it reads."""
    pins = weights.model_pins()
    contents = {name: (out / name).read_bytes() for name in NAMES}
    return {
        "format": 4,
        "name": pins["name"],
        "revision": pins["revision"],
        "dimensions": weights.WIDTH,
        "maxTokens": weights.POSITIONS,
        "license": pins["license"],
        "fingerprint": fingerprint(pins["name"], contents[DATA_NAME], tokenizer),
        "files": [checksum.entry(name, content) for name, content in contents.items()],
    }


def build(source, out):
    """Write the model's files into `out`, the manifest last."""
    source, out = Path(source), Path(out)
    made = graph.Stored(DATA_NAME)
    model = graph.pooled(made, graph.encoder(made, weights.read(source)))
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
