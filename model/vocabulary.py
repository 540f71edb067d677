"""The vocabulary of the tokenizer, with a hash table, to be used as it lies in a file.

All integers are little-endian:

    u32 words        their number, at most 65,535
    u32 longest      the length of the longest word, in bytes
    u32 [words + 1]  where each word begins in the text, and the end of the last one
    u16 [65536]      the hash table: a word is in the first slot from its hash on, or the next free one
    text             the words in UTF-8, in the order of their ids

A free slot is 65,535. The hash of a word is FNV-1a of 32 bits over its bytes, both halves combined by exclusive or.
"""

import json

import numpy as np

SLOTS = 1 << 16
FREE = SLOTS - 1


def hash_of(word):
    value = 0x811C9DC5
    for byte in word:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return (value >> 16) ^ (value & 0xFFFF)


def words_of(tokenizer):
    """The words of the bytes of a tokenizer.json, in the order of their ids."""
    ids = json.loads(tokenizer)["model"]["vocab"]
    words = sorted(ids, key=ids.get)
    if [ids[word] for word in words] != list(range(len(words))) or len(words) > FREE:
        raise ValueError(f"expected at most {FREE} ids without gaps, got {len(words)}")
    return [word.encode("utf-8") for word in words]


def packed(tokenizer):
    """The contents of the file, from the bytes of a tokenizer.json."""
    words = words_of(tokenizer)
    table = np.full(SLOTS, FREE, dtype="<u2")
    for number, word in enumerate(words):
        slot = hash_of(word)
        while table[slot] != FREE:
            slot = (slot + 1) % SLOTS
        table[slot] = number
    lengths = [len(word) for word in words]
    starts = np.cumsum([0, *lengths], dtype="<u4")
    head = np.array([len(words), max(lengths)], dtype="<u4")
    return b"".join([head.tobytes(), starts.tobytes(), table.tobytes(), *words])
