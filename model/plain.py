"""A plain float32 export of the same weights, the way a PyTorch exporter writes BERT.

    python model/plain.py --weights DIR --out DIR

It is the reference for fidelity and speed: nothing is rounded. Output `last_hidden_state` float32
[batch, tokens, WIDTH]. The files lie where transformers.js looks for the local model
`Xenova/all-MiniLM-L6-v2` with dtype fp32.
"""

import json
import shutil
from pathlib import Path

import numpy as np

import graph
import weights
from weights import EPSILON, FFN, HEADS, LAYERS, POSITIONS, VOCABULARY, WIDTH

FOLDER = Path("Xenova") / "all-MiniLM-L6-v2"

CONFIG = {
    "architectures": ["BertModel"],
    "hidden_act": "gelu",
    "hidden_size": WIDTH,
    "intermediate_size": FFN,
    "layer_norm_eps": EPSILON,
    "max_position_embeddings": POSITIONS,
    "model_type": "bert",
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "pad_token_id": 0,
    "position_embedding_type": "absolute",
    "type_vocab_size": 2,
    "vocab_size": VOCABULARY,
}

TOKENIZER_CONFIG = {
    "cls_token": "[CLS]",
    "do_basic_tokenize": True,
    "do_lower_case": True,
    "mask_token": "[MASK]",
    "model_max_length": POSITIONS,
    "pad_token": "[PAD]",
    "sep_token": "[SEP]",
    "strip_accents": None,
    "tokenize_chinese_chars": True,
    "tokenizer_class": "BertTokenizer",
    "unk_token": "[UNK]",
}


class Plain(graph.Graph):
    """Tables and weights in float32, all inside the file of the graph."""

    def rows(self, name, table, ids):
        table = self.store.add(f"{name}.table", table.astype(np.float32))
        return self.node("Gather", [table, ids], name)

    def weight(self, name, matrix):
        return self.store.add(name, matrix)

    def projections(self, name, x, layer):
        parts = {"query": layer.query, "key": layer.key, "value": layer.value}
        return [self.linear(f"{name}.{part}", x, linear) for part, linear in parts.items()]


def build_graph(source):
    """Return the ModelProto."""
    made = Plain()
    made.node("Identity", [graph.encoder(made, source)], "last_hidden_state")
    return made.model("bert", "last_hidden_state", ["batch", "tokens", WIDTH])


def build(source, out):
    """Write the export and the files transformers.js reads beside it."""
    source, folder = Path(source), Path(out) / FOLDER
    model = build_graph(weights.read(source))
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / "onnx" / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")
    for name, content in (("config.json", CONFIG), ("tokenizer_config.json", TOKENIZER_CONFIG)):
        text = json.dumps(content, indent=2) + "\n"
        (folder / name).write_bytes(text.encode("utf-8"))


if __name__ == "__main__":
    weights.convert(build, "Write the plain float32 export, as Xenova/... in a folder.")
