"""Small models with random weights, in folders as Hugging Face lays them out, and broken ones.

    python __test__/models/build.py --out DIR

The same bytes in every run: weights come from a seeded generator, tokenizers are made of the sentences
beside this script.
"""

import argparse
import json
import os
import shutil
from collections import Counter
from itertools import combinations
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
from onnx import TensorProto, external_data_helper, helper, load_model_from_string, numpy_helper
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = json.loads((Path(__file__).parent / "sentences.json").read_text(encoding="utf-8"))
CORPUS = [sentence for language in SENTENCES.values() for sentence in language]
HEADS = 4
LAYERS = 2
IR_VERSION = 8
OPSET = 17
EPSILON = 1e-5
# Pieces of more than one character, or merges.
PIECES = 400
QWEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Encoder:
    """A transformer written node by node; inputs [batch, tokens], rows of `width`."""

    def __init__(self, seed, vocabulary, width, positions, **options):
        self.random = np.random.default_rng(seed)
        self.vocabulary, self.width, self.positions = vocabulary, width, positions
        self.types = options.get("types", False)
        self.position_ids = options.get("position_ids", False)
        self.offset = options.get("offset", 0)
        self.half = options.get("half", False)
        self.integer = options.get("integer", TensorProto.INT64)
        self.nodes, self.constants = [], []

    def node(self, operator, inputs, output, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))
        return output

    def constant(self, name, values, dtype):
        self.constants.append(numpy_helper.from_array(np.array(values, dtype=dtype), name))
        return name

    def weight(self, name, *shape, spread=0.3):
        """Random numbers; stored with 16 bits if the model is."""
        values = self.random.standard_normal(shape, dtype=np.float32) * np.float32(spread)
        if not self.half:
            return self.constant(name, values, np.float32)
        stored = self.constant(f"{name}.half", values, np.float16)
        return self.node("Cast", [stored], name, to=TensorProto.FLOAT)

    def linear(self, name, x, inputs, outputs):
        weight = self.weight(f"{name}.weight", inputs, outputs, spread=inputs**-0.5)
        product = self.node("MatMul", [x, weight], f"{name}.product")
        return self.node("Add", [product, self.weight(f"{name}.bias", outputs)], name)

    def norm(self, name, x):
        gamma = self.weight(f"{name}.gamma", self.width, spread=1)
        beta = self.weight(f"{name}.beta", self.width)
        inputs = [x, gamma, beta]
        return self.node("LayerNormalization", inputs, name, axis=-1, epsilon=EPSILON)

    def places(self):
        """The position of each token."""
        if self.position_ids:
            return "position_ids"
        ones = self.node("Cast", ["attention_mask"], "mask.integers", to=TensorProto.INT64)
        axis = self.constant("positions.axis", 1, np.int64)
        counted = self.node("CumSum", [ones, axis], "positions.counted")
        shift = self.constant("positions.shift", self.offset - 1, np.int64)
        return self.node("Add", [counted, shift], "positions")

    def embeddings(self):
        tables = [("word", "input_ids", self.vocabulary), ("place", self.places(), self.positions)]
        if self.types:
            tables.append(("type", "token_type_ids", 2))
        x = None
        for name, ids, size in tables:
            table = self.weight(f"{name}.table", size, self.width, spread=1)
            rows = self.node("Gather", [table, ids], f"{name}.rows")
            x = rows if x is None else self.node("Add", [x, rows], f"{name}.sum")
        return self.norm("embeddings", x)

    def heads(self, name, x, order):
        x = self.linear(name, x, self.width, self.width)
        shape = self.constant(f"{name}.shape", [0, 0, HEADS, self.width // HEADS], np.int64)
        split = self.node("Reshape", [x, shape], f"{name}.split")
        return self.node("Transpose", [split], f"{name}.heads", perm=order)

    def layer(self, name, x):
        query = self.heads(f"{name}.query", x, [0, 2, 1, 3])
        key = self.heads(f"{name}.key", x, [0, 2, 3, 1])
        value = self.heads(f"{name}.value", x, [0, 2, 1, 3])
        scores = self.node("MatMul", [query, key], f"{name}.scores")
        scale = self.constant(f"{name}.scale", (self.width / HEADS) ** -0.5, np.float32)
        scores = self.node("Mul", [scores, scale], f"{name}.scaled")
        shares = self.node("Softmax", [scores], f"{name}.shares", axis=-1)
        context = self.node("MatMul", [shares, value], f"{name}.context")
        context = self.node("Transpose", [context], f"{name}.moved", perm=[0, 2, 1, 3])
        shape = self.constant(f"{name}.joined", [0, 0, self.width], np.int64)
        context = self.node("Reshape", [context, shape], f"{name}.rows")
        attended = self.linear(f"{name}.output", context, self.width, self.width)
        h = self.norm(f"{name}.attention", self.node("Add", [x, attended], f"{name}.sum"))
        wide = self.linear(f"{name}.up", h, self.width, 2 * self.width)
        wide = self.node("Tanh", [wide], f"{name}.tanh")
        narrow = self.linear(f"{name}.down", wide, 2 * self.width, self.width)
        return self.norm(f"{name}.end", self.node("Add", [h, narrow], f"{name}.whole"))

    def build(self, pooled=False):
        """Return the ModelProto; with `pooled`, a second output is the mean over tokens."""
        x = self.embeddings()
        for index in range(LAYERS):
            x = self.layer(f"layer{index}", x)
        rows = "token_embeddings" if pooled else "last_hidden_state"
        self.node("Identity", [x], rows)
        shapes = {rows: ["batch", "tokens", self.width]}
        if pooled:
            self.node("ReduceMean", [x], "sentence_embedding", axes=[1], keepdims=0)
            shapes["sentence_embedding"] = ["batch", self.width]
        outputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in shapes.items()
        ]
        names = ["input_ids", "attention_mask"]
        names += ["token_type_ids"] * self.types + ["position_ids"] * self.position_ids
        shape = ["batch", "tokens"]
        inputs = [helper.make_tensor_value_info(name, self.integer, shape) for name in names]
        graph = helper.make_graph(self.nodes, "encoder", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def frame(tokenizer, special):
    """Put special tokens around each text."""
    tokenizer.add_special_tokens(special)
    first, last = special[2:4]
    pair = f"{first} $A {last} $B {last}"
    ids = [(token, tokenizer.token_to_id(token)) for token in (first, last)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", pair=pair, special_tokens=ids
    )
    return tokenizer


def word_pieces(special, lowercase=True):
    """BERT's tokenizer; `special` in the order of padding, unknown, first, last, mask.

    Trainers break ties by the order of a hash table, so this one is no trainer: all characters, and the
    beginnings and other parts of words that save most tokens.
    """
    normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    words = [word for text in CORPUS for word, _ in split(normalizer.normalize_str(text))]
    saved = Counter()
    for word in words:
        for start, end in combinations(range(len(word) + 1), 2):
            saved[("##" if start else "") + word[start:end]] += end - start - 1
    characters = {character for word in words for character in word}
    singles = sorted(prefix + character for character in characters for prefix in ("", "##"))
    longer = sorted(saved, key=lambda piece: (-saved[piece], piece))[:PIECES]
    pieces = [*special, *singles, *(piece for piece in longer if piece not in singles)]
    vocabulary = {piece: at for at, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=special[1]))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return frame(tokenizer, special)


def unigram(special):
    """The tokenizer of XLM-RoBERTa; `special` as above."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=700, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    # Only the first digit is the same in every run. No two ways to cut a word may be as good as each other.
    trained = json.loads(tokenizer.to_str())["model"]["vocab"]
    trained = sorted((-round(score, 1), piece) for piece, score in trained)
    scores = [(piece, -cost - 0.01 * at**0.5) for at, (cost, piece) in enumerate(trained)]
    pieces = [(token, 0.0) for token in special] + scores
    tokenizer.model = models.Unigram(pieces, unk_id=1, byte_fallback=False)
    return frame(tokenizer, special)


def byte_pairs(special):
    """The tokenizer of RoBERTa; `special` as above. Of pairs that are as frequent, the first one is merged."""
    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words = Counter(tuple(word) for text in CORPUS for word, _ in split.pre_tokenize_str(text))
    merges = []
    for _ in range(PIECES):
        pairs = Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        words = Counter({merged(word, best): count for word, count in words.items()})
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*special, *alphabet, *("".join(pair) for pair in merges)]
    vocabulary = {piece: at for at, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = split
    return frame(tokenizer, special)


def split_byte_pairs(special):
    """The tokenizer of Qwen: another way to find words, and normalised text."""
    tokenizer = byte_pairs(special)
    tokenizer.normalizer = normalizers.NFC()
    bytes_only = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    words = pre_tokenizers.Split(Regex(QWEN_WORDS), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, bytes_only])
    return tokenizer


def merged(word, pair):
    """The parts of a word with one pair of them joined."""
    parts = []
    for part in word:
        if parts and (parts[-1], part) == pair:
            parts[-1] += part
        else:
            parts.append(part)
    return tuple(parts)


BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]

# What several models share.
PLAIN = ("bert", "BertTokenizer", word_pieces, BERT, 128)

# Name: model type, transformers.js' tokenizer class, tokenizer, special tokens, positions, pooling, options.
MODELS = {
    "bert": (*PLAIN, "mean", {"types": True}),
    "cased": (*PLAIN, "cls", {"types": True}),
    "xlm-roberta": ("xlm-roberta", "XLMRobertaTokenizer", unigram, ROBERTA, 130, "mean", {}),
    "mpnet": ("mpnet", "MPNetTokenizer", word_pieces, ROBERTA, 130, "mean", {}),
    "roberta": ("roberta", "RobertaTokenizer", byte_pairs, ROBERTA, 130, "cls", {}),
    "long": (
        "qwen2",
        "Qwen2Tokenizer",
        split_byte_pairs,
        ROBERTA,
        2048,
        "lasttoken",
        {"position_ids": True},
    ),
    "half": (*PLAIN, "mean", {"types": True, "half": True}),
    "external": (*PLAIN, "mean", {"types": True}),
    "pooled": (*PLAIN, None, {"types": True}),
    "narrow": (*PLAIN, "mean", {"integer": TensorProto.INT32}),
}
WIDTHS = {"bert": 48, "long": 64, "pooled": 40, "narrow": 4}


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def build(name, seed, out):
    """Write the folder of one model."""
    kind, tokenizer_class, make, special, positions, pooling, options = MODELS[name]
    folder, width = out / name, WIDTHS.get(name, 32)
    tokenizer = make(special, lowercase=False) if name == "cased" else make(special)
    offset = tokenizer.token_to_id(special[0]) + 1 if special is ROBERTA and kind != "qwen2" else 0
    encoder = Encoder(seed, tokenizer.get_vocab_size(), width, positions, offset=offset, **options)
    model = encoder.build(pooled=pooling is None)
    (folder / "onnx").mkdir(parents=True)
    if name == "external":
        external_data_helper.convert_model_to_external_data(
            model, location="model.onnx_data", size_threshold=128
        )
        external_data_helper.write_external_data_tensors(model, str(folder / "onnx"))
    (folder / "onnx" / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "model_type": kind,
        "hidden_size": width,
        "max_position_embeddings": positions,
        "pad_token_id": tokenizer.token_to_id(special[0]),
        "vocab_size": tokenizer.get_vocab_size(),
    }
    write(folder / "config.json", config)
    roles = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    tokens = dict(zip(roles, special, strict=True))
    write(folder / "special_tokens_map.json", tokens)
    config = {**tokens, "tokenizer_class": tokenizer_class, "model_max_length": positions - offset}
    write(folder / "tokenizer_config.json", config)
    if pooling is None:
        return
    modes = ("cls_token", "mean_tokens", "max_tokens", "lasttoken")
    chosen = {f"pooling_mode_{mode}": mode.startswith(pooling) for mode in modes}
    write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": width, **chosen})
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    listed = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (path, kind) in enumerate(modules)
    ]
    write(folder / "modules.json", listed)


INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT
ROWS = ("batch", "tokens", 48)


def first(graph, name):
    """The input, output or constant with this name."""
    parts = [*graph.input, *graph.output, *graph.initializer]
    return next(part for part in parts if part.name == name)


def with_information(graph, name, *shape, kind=INT64):
    """Replace what an input or output is declared to be."""
    first(graph, name).CopyFrom(helper.make_tensor_value_info(name, kind, shape))


def with_weights(graph, name, values):
    first(graph, name).CopyFrom(numpy_helper.from_array(values.astype(np.float32), name))


def constant(graph, name, numbers):
    graph.initializer.append(numpy_helper.from_array(np.array(numbers, dtype=np.int64), name))
    return name


def with_output(graph, operator, shape, *inputs, kind=FLOAT, **attributes):
    """Replace the output by an operation on it and on other inputs."""
    name = graph.output[0].name
    graph.node[-1].output[0] = "result"
    inputs = ["result", *inputs]
    graph.node.append(helper.make_node(operator, inputs, [name], "broken", **attributes))
    with_information(graph, name, *shape, kind=kind)


def huge(graph):
    """Wants 100 GB when it is run."""
    shape = constant(graph, "huge.shape", [100, 2**28])
    nodes = [
        helper.make_node("ConstantOfShape", [shape], ["huge"]),
        helper.make_node("CumSum", ["huge", "positions.axis"], ["huge.summed"]),
        helper.make_node("ReduceSum", ["huge.summed"], ["huge.sum"], keepdims=0),
    ]
    for at, node in enumerate(nodes):
        graph.node.insert(at, node)
    with_output(graph, "Add", ROWS, "huge.sum")


def outside(graph, location):
    """Has weights outside of its folder."""
    table = first(graph, "word.table")
    external_data_helper.set_external_data(table, location=location)
    table.ClearField("raw_data")


# What is done to the graph of "bert".
BROKEN = {
    "float ids": lambda graph: with_information(graph, "attention_mask", *ROWS[:2], kind=FLOAT),
    "ids of rank 1": lambda graph: with_information(graph, "input_ids", "tokens"),
    "sixteen tokens": lambda graph: with_information(graph, "input_ids", "batch", 16),
    "another input": lambda graph: graph.input.append(
        helper.make_tensor_value_info("pixels", FLOAT, [1])
    ),
    "no ids": lambda graph: graph.input.pop(0),
    "output of rank 4": lambda graph: with_output(
        graph, "Unsqueeze", (1, *ROWS), constant(graph, "axes", [0])
    ),
    "integers": lambda graph: with_output(graph, "Cast", ROWS, kind=INT64, to=INT64),
    # Vectors of 4,800 numbers.
    "wide": lambda graph: with_output(
        graph, "Tile", (*ROWS[:2], "width"), constant(graph, "repeats", [1, 1, 100])
    ),
    "not a number": lambda graph: with_weights(graph, "layer1.end.beta", np.full(48, np.nan)),
    "infinite": lambda graph: with_weights(graph, "layer1.end.beta", np.full(48, np.inf)),
    "zeros": lambda graph: (
        with_weights(graph, "layer1.end.beta", np.zeros(48)),
        with_weights(graph, "layer1.end.gamma", np.zeros(48)),
    ),
    "small vocabulary": lambda graph: with_weights(graph, "word.table", np.ones((200, 48))),
    "huge": huge,
    "weights above": lambda graph: outside(graph, "../../bert/onnx/model.onnx"),
    "weights at a path": lambda graph: outside(graph, "/etc/hostname"),
    "missing weights": lambda graph: outside(graph, "weights.bin"),
    "an operator of another library": lambda graph: with_output(
        graph, "Mystery", ROWS, domain="com.example"
    ),
}


def break_model(name, out):
    """Write a folder like that of "bert", with a graph that cannot be used."""
    folder = out / "broken" / name
    shutil.copytree(out / "bert", folder)
    path = folder / "onnx" / "model.onnx"
    model = load_model_from_string(path.read_bytes())
    BROKEN[name](model.graph)
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    path.write_bytes(model.SerializeToString(deterministic=True))


def main():
    parser = argparse.ArgumentParser(description="Write small models with random weights.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write them into")
    options = parser.parse_args()
    for seed, name in enumerate(MODELS):
        build(name, seed, options.out)
    for name in BROKEN:
        break_model(name, options.out)


if __name__ == "__main__":
    main()
