"""Compare the built model with the plain float32 export: fidelity, speed, load time, memory.

Run it with onnxruntime and tokenizers, which the builder does without:

    python3 scripts/assets.py --platform linux-x64-gnu --out npm/linux-x64-gnu --plain DIR
    python -m pip install onnxruntime==1.23.2 tokenizers==0.23.3
    python model/measure.py --model npm/linux-x64-gnu/model --plain DIR

The texts are generated and always the same; times are of one text at a time.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

PLAIN = Path("Xenova") / "all-MiniLM-L6-v2" / "onnx" / "model.onnx"
MAX_TOKENS = 512
LENGTHS = (5, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
TEXTS_PER_LENGTH = 4
TIMED = {16: 60, 128: 25, 512: 10}

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


def texts():
    """Token ids [CLS] ... cut to each of LENGTHS, several texts a length; always the same."""
    for length in LENGTHS:
        for number in range(TEXTS_PER_LENGTH):
            choose = random.Random(f"{length}/{number}")
            source = sentences(choose)
            yield length, " ".join(next(source) for _ in range(length))


def tokenised(model):
    """The texts as int64 arrays; a long one ends without [SEP], as in scoring."""
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for length, text in texts():
        yield np.array(tokenizer.encode(text).ids[: min(length, MAX_TOKENS)], dtype=np.int64)


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def embed(built, ids):
    return built.run(None, {"input_ids": ids})[0]


def embed_plain(plain, ids):
    """What transformers.js does with the plain export: mean over tokens, L2-normalised."""
    batch = ids[None, :]
    feeds = {"input_ids": batch, "attention_mask": batch * 0 + 1, "token_type_ids": batch * 0}
    mean = plain.run(None, feeds)[0][0].mean(axis=0)
    return mean / np.linalg.norm(mean)


def novelties(vectors):
    """1 - the largest cosine with an earlier vector, for each but the first."""
    cosines = vectors @ vectors.T
    return np.array([1 - cosines[i, :i].max() for i in range(1, len(vectors))])


def fidelity(model, plain):
    built, exported = session(model / "model.onnx", 1), session(plain / PLAIN, 1)
    ids = list(tokenised(model))
    found = np.stack([embed(built, each) for each in ids]).astype(np.float64)
    expected = np.stack([embed_plain(exported, each) for each in ids]).astype(np.float64)
    pairs = np.triu_indices(len(ids), 1)
    results = {
        "1 - cos(built, plain)": 1 - (found * expected).sum(axis=1),
        "|error| of a cosine": np.abs(found @ found.T - expected @ expected.T)[pairs],
        "|error| of novelty": np.abs(novelties(found) - novelties(expected)),
    }
    print(f"fidelity over {len(ids)} texts of {min(map(len, ids))} to {max(map(len, ids))} tokens")
    for name, errors in results.items():
        print(f"  {name:22} max {errors.max():.1e}  p99 {np.quantile(errors, 0.99):.1e}")


def speed(model, plain):
    """Both models in turn on the same text, medians."""
    print("median ms for one text        plain    built    ratio")
    for threads in (1, 2):
        rivals = (
            (embed_plain, session(plain / PLAIN, threads)),
            (embed, session(model / "model.onnx", threads)),
        )
        for tokens, rounds in TIMED.items():
            ids = np.arange(tokens, dtype=np.int64) * 37 % 20000 + 1000
            times = ([], [])
            for turn in range(rounds + 2):
                for (run, rival), taken in zip(rivals, times):
                    start = time.perf_counter()
                    run(rival, ids)
                    if turn >= 2:
                        taken.append(1000 * (time.perf_counter() - start))
            first, second = map(statistics.median, times)
            place = f"{threads} threads, {tokens} tokens"
            print(f"  {place:24} {first:8.2f} {second:8.2f} {second / first:8.2f}")


def memory():
    """Resident and peak memory of this process in MB (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return [int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")]


def load_once(path):
    """In a process of its own: print load time and memory as JSON."""
    before, _ = memory()
    start = time.perf_counter()
    session(path, 1)
    taken = time.perf_counter() - start
    after, peak = memory()
    print(json.dumps([1000 * taken, after - before, peak - before]))


def load(model, plain):
    print("loading (median of 5)      ms   RSS MB   peak MB   over what Python takes")
    for name, path in (("plain", plain / PLAIN), ("built", model / "model.onnx")):
        command = [sys.executable, __file__, "--load", str(path)]
        rows = [json.loads(subprocess.check_output(command, text=True)) for _ in range(5)]
        taken, resident, peak = (statistics.median(column) for column in zip(*rows))
        print(f"  {name:18} {taken:8.0f} {resident:8.0f} {peak:9.0f}")


def main():
    parser = argparse.ArgumentParser(description="Measure the model against the plain export.")
    parser.add_argument("--model", type=Path, help="folder with the built model")
    parser.add_argument("--plain", type=Path, help="folder given to assets.py --plain")
    parser.add_argument("--load", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.load:
        load_once(options.load)
        return
    if not (options.model and options.plain):
        parser.error("give --model and --plain")
    fidelity(options.model, options.plain)
    speed(options.model, options.plain)
    if sys.platform == "linux":
        load(options.model, options.plain)


if __name__ == "__main__":
    main()
