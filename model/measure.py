"""Compare the embeddings of the built model with those of the plain float32 export.

The built graphs have operators of our own, so that a Rust example runs them, text by text:

    python3 tools/assets.py --platform linux-x64-gnu --out npm/linux-x64-gnu --plain DIR
    python -m pip install onnxruntime==1.23.2 tokenizers==0.23.3
    python model/measure.py texts --plain DIR > texts.jsonl
    cargo run --release --example embed -- npm/linux-x64-gnu fast < texts.jsonl > fast.jsonl
    python model/measure.py compare --plain DIR --texts texts.jsonl fast.jsonl

The generated texts are always the same; `texts --traces FILE` takes those of real traces instead.
A line of texts.jsonl is a string in JSON, one of fast.jsonl an array of 384 numbers.
"""

import argparse
import json
import random
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

EXPORT = Path("Xenova") / "all-MiniLM-L6-v2"
MAX_TOKENS = 512
LENGTHS = (5, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)

# Also the size of the groups in which texts are compared with those before them.
TEXTS_PER_LENGTH = 24

# What the generated texts are made of: a word list a column, a row a sentence.
SUBJECTS = [
    "the agent",
    "a customer",
    "our parser",
    "the failing test",
    "this invoice",
    "the database index",
    "a nurse",
    "the flight to Oslo",
    "my colleague",
    "the compiler",
    "an auditor",
    "the retry loop",
]
VERBS = [
    "checks",
    "cancels",
    "rewrites",
    "compares",
    "explains",
    "measures",
    "rejects",
    "books",
    "repairs",
    "confirms",
    "ignores",
    "searches",
]
OBJECTS = [
    "the reservation",
    "a null pointer",
    "three log files",
    "the patient's record",
    "a refund of $214",
    "the quarterly report",
    "an unhandled exception",
    "src/main.rs",
    "every open ticket",
    "the risk estimate",
    "a missing comma",
    "seat 14C",
]
ENDINGS = [
    "before lunch.",
    "because the cache was stale.",
    "and then stops!",
    "without asking.",
    "in 3.5 seconds.",
    "again, with another tool.",
    "so the score drops;",
    "but not on Windows.",
    "although nobody noticed.",
    "after 12 attempts.",
]


def sentences(choose):
    """An endless row of words; each text is steered towards a few topics, as real ones are."""
    topics = [choose.sample(words, 4) for words in (SUBJECTS, VERBS, OBJECTS)]
    while True:
        for words in (*topics, ENDINGS):
            yield choose.choice(words)


def generated(tokenizer):
    """TEXTS_PER_LENGTH texts of about each of LENGTHS, in tokens with [CLS] and [SEP]."""
    for length in LENGTHS:
        for number in range(TEXTS_PER_LENGTH):
            source = sentences(random.Random(f"{length}/{number}"))
            text = " ".join(next(source) for _ in range(length))
            # The offsets of [CLS] and [SEP] are empty; the last one wanted is before [SEP].
            yield text[: tokenizer.encode(text).offsets[length - 2][1]]


def of_traces(path):
    """What is embedded of each trace: the objective and all contents."""
    for line in path.read_text(encoding="utf-8").splitlines():
        trace = json.loads(line)
        contents = (step.get("content") for step in trace["steps"])
        yield " ".join(
            [trace["task"]["objective"], *(text for text in contents if text is not None)]
        )


def tokenizer_of(plain):
    tokenizer = Tokenizer.from_file(str(plain / EXPORT / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def write_texts(options):
    if options.traces:
        texts = (text for path in options.traces for text in of_traces(path))
    else:
        texts = generated(tokenizer_of(options.plain))
    for text in texts:
        print(json.dumps(text))


def embed_plain(plain, ids):
    """What transformers.js does with the plain export: mean over tokens, L2-normalised."""
    batch = np.array([ids], dtype=np.int64)
    feeds = {"input_ids": batch, "attention_mask": batch * 0 + 1, "token_type_ids": batch * 0}
    mean = plain.run(None, feeds)[0][0].mean(axis=0)
    return mean / np.linalg.norm(mean)


def expected_embeddings(plain, texts):
    """A long text ends without [SEP], as in scoring."""
    tokenizer = tokenizer_of(plain)
    path = plain / EXPORT / "onnx" / "model.onnx"
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    ids = [tokenizer.encode(text).ids[:MAX_TOKENS] for text in texts]
    return np.stack([embed_plain(session, each) for each in ids]).astype(np.float64), ids


def novelties(vectors, group):
    """1 - the largest cosine with an earlier vector of the group, for each but the first."""
    found = []
    for start in range(0, len(vectors), group):
        part = vectors[start : start + group]
        cosines = part @ part.T
        found += [1 - cosines[index, :index].max() for index in range(1, len(part))]
    return np.array(found)


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def compare(options):
    texts = lines(options.texts)
    expected, ids = expected_embeddings(options.plain, texts)
    print(f"{len(ids)} texts of {min(map(len, ids))} to {max(map(len, ids))} tokens")
    pairs = np.triu_indices(len(ids), 1)
    for path in options.embeddings:
        found = np.array(lines(path), dtype=np.float64)
        if found.shape != expected.shape:
            raise SystemExit(f"{path}: expected the shape {expected.shape}, got {found.shape}")
        results = {
            "1 - cos(built, plain)": 1 - (found * expected).sum(axis=1),
            "|error| of a cosine": np.abs(found @ found.T - expected @ expected.T)[pairs],
        }
        for name, group in ((f"groups of {TEXTS_PER_LENGTH}", TEXTS_PER_LENGTH), ("all", len(ids))):
            difference = novelties(found, group) - novelties(expected, group)
            results[f"|error| of novelty, {name}"] = np.abs(difference)
        print(path)
        for name, errors in results.items():
            figures = (errors.max(), np.quantile(errors, 0.99), errors.mean())
            print("  {:34} max {:.1e}  p99 {:.1e}  mean {:.1e}".format(name, *figures))


def main():
    parser = argparse.ArgumentParser(description="Measure the fidelity of the built model.")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("texts", help="print the texts to embed")
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("--plain", type=Path, help="generated ones; folder with the plain export")
    source.add_argument("--traces", type=Path, nargs="+", help="those of files of traces")
    command.set_defaults(run=write_texts)
    command = commands.add_parser("compare", help="print the errors of embeddings")
    command.add_argument("--plain", type=Path, required=True, help="folder with the plain export")
    command.add_argument("--texts", type=Path, required=True, help="what `texts` printed")
    command.add_argument("embeddings", type=Path, nargs="+", help="what the example printed")
    command.set_defaults(run=compare)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
