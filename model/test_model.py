"""Tests of the builder.

    KNOWLEDGEPULSE_WEIGHTS=DIR python -m unittest discover -s model

DIR holds the published files; the packages are those of requirements.txt.
"""

import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

import build
import checksum
import plain
import reference
import storage
import vocabulary
import weights

SOURCE = os.environ.get("KNOWLEDGEPULSE_WEIGHTS")

TEXTS = (
    [101, 102],
    [101, 7592, 102],
    [101, 2023, 2003, 1037, 7099, 1997, 1037, 2460, 3793, 1012, 102],
    [101, *range(1000, 1062), 102],
    [101, *range(2000, 2510), 102],
)

FINGERPRINT = "f88bbbab8b16aa5171af6c13387886ae6112eb7edc443382027413a4822201bf"


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


class ChecksumTest(unittest.TestCase):
    def test_checksum_depends_on_each_part(self):
        content = bytes(checksum.PART_BYTES) * 2 + b"rest"
        found = {checksum.checksum(content)}
        for at in (0, checksum.PART_BYTES, len(content) - 1):
            other = bytearray(content)
            other[at] ^= 1
            found.add(checksum.checksum(bytes(other)))
        found.add(checksum.checksum(content[:-1]))
        self.assertEqual(len(found), 5)


class StorageTest(unittest.TestCase):
    def test_error_is_within_half_a_step(self):
        matrix = np.random.default_rng(1).normal(size=(64, 32)).astype(np.float32)
        matrix[:, 3] = 0
        for axis in (0, 1):
            values, scale = storage.quantise(matrix, axis)
            decoded = values.astype(np.float32) * scale
            error = np.abs(decoded.astype(np.float64) - matrix)
            self.assertTrue((error <= scale * 0.501).all())
        self.assertEqual(storage.quantise(matrix, 0).scale.shape, (1, 32))
        self.assertEqual(storage.quantise(matrix, 1).scale.shape, (64, 1))

    def test_halves_round_to_even(self):
        matrix = np.array([[storage.LARGEST], [0.5], [1.5], [-2.5]], dtype=np.float32)
        values = storage.quantise(matrix, 0).values[:, 0]
        self.assertEqual(values.tolist(), [storage.LARGEST, 0, 2, -2])

    def test_panels_hold_columns(self):
        matrix = np.arange(5 * 48, dtype=np.int16).reshape(5, 48)
        panels = storage.to_panels(matrix)
        self.assertEqual(panels.shape, (3, 5, 16))
        self.assertEqual(panels[1, 2].tolist(), matrix[2, 16:32].tolist())
        np.testing.assert_array_equal(storage.from_panels(panels), matrix)

    def test_external_data_is_aligned(self):
        store = storage.Store("data")
        large, small = storage.MAPPING, storage.EXTERNAL_FROM_BYTES
        for size in (large + 1, small + 1, small, large):
            store.add(str(size), np.ones((1, size), dtype=np.int8))
        store.add("tiny", np.float32(1))
        places = [int(tensor.external_data[1].value) for tensor in store.tensors[:4]]
        self.assertEqual(places, [0, 65600, 66688, 131072])
        self.assertEqual(len(store.data), 131072 + storage.MAPPING)
        self.assertEqual(store.tensors[4].raw_data, b"\0\0\x80\x3f")
        self.assertEqual(list(store.tensors[4].dims), [])


@unittest.skipUnless(SOURCE, "KNOWLEDGEPULSE_WEIGHTS is not set")
class ModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.out = cls.folder / "first"
        build.build(SOURCE, cls.out)
        cls.weights = weights.read(SOURCE)

    def test_two_builds_are_equal(self):
        second = self.folder / "second"
        build.build(SOURCE, second)
        for name in sorted(path.name for path in self.out.iterdir()):
            self.assertEqual((self.out / name).read_bytes(), (second / name).read_bytes(), name)

    def test_vocabulary_has_each_word_where_its_hash_says(self):
        tokenizer = (Path(SOURCE) / "tokenizer.json").read_bytes()
        ids = json.loads(tokenizer)["model"]["vocab"]
        file = (self.out / build.VOCABULARY_NAME).read_bytes()
        count, longest = np.frombuffer(file, "<u4", 2)
        starts = np.frombuffer(file, "<u4", count + 1, 8)
        slots = np.frombuffer(file, "<u2", vocabulary.SLOTS, 8 + starts.nbytes)
        text = file[8 + starts.nbytes + slots.nbytes :]
        self.assertEqual(count, len(ids))
        self.assertEqual(longest, max(len(word.encode()) for word in ids))
        for word, number in ids.items():
            self.assertEqual(text[starts[number] : starts[number + 1]].decode(), word)
            slot = vocabulary.hash_of(word.encode())
            while slots[slot] != number:
                self.assertNotEqual(slots[slot], vocabulary.FREE, word)
                slot = (slot + 1) % vocabulary.SLOTS

    def test_vocabulary_has_ids_without_gaps(self):
        for ids in ({"a": 0, "b": 2}, {"a": 1}, {"a": 0, "b": 0}):
            with self.assertRaisesRegex(ValueError, "ids without gaps"):
                vocabulary.packed(json.dumps({"model": {"vocab": ids}}).encode())

    def test_manifest_describes_the_files(self):
        manifest = json.loads((self.out / "manifest.json").read_text(encoding="utf-8"))
        names = [entry["name"] for entry in manifest["files"]]
        self.assertEqual(names, list(build.NAMES))
        for entry in manifest["files"]:
            content = (self.out / entry["name"]).read_bytes()
            self.assertEqual(entry, checksum.entry(entry["name"], content))
        self.assertEqual(manifest["format"], 4)
        # Stores and snapshots of earlier versions have it.
        self.assertEqual(manifest["fingerprint"], FINGERPRINT)
        self.assertEqual(manifest["dimensions"], 384)
        self.assertEqual(manifest["maxTokens"], 512)
        self.assertEqual(manifest["revision"], "1110a243fdf4706b3f48f1d95db1a4f5529b4d41")
        self.assertLessEqual(sum(path.stat().st_size for path in self.out.iterdir()), 50_000_000)

    def test_graph_has_operators_of_the_standard_alone(self):
        path = str(self.out / build.GRAPH_NAME)
        onnx.checker.check_model(path)
        model = onnx.load(path)
        [opset] = model.opset_import
        self.assertEqual((opset.domain, opset.version), ("", 17))
        self.assertEqual({node.domain for node in model.graph.node}, {""})

    def test_graph_computes_what_the_weights_say(self):
        session = ReferenceEvaluator(onnx.load(str(self.out / build.GRAPH_NAME)))
        for ids in TEXTS:
            # A batch with the same text twice, once with padding.
            padding = min(3, weights.POSITIONS - len(ids))
            padded = np.array([[*ids, *[0] * padding], [*ids, *[7] * padding]], dtype=np.int64)
            mask = np.array([[1] * len(ids) + [0] * padding] * 2, dtype=np.int64)
            found, again = session.run(None, {"input_ids": padded, "attention_mask": mask})[0]
            np.testing.assert_array_equal(found, again)
            expected = reference.embed(self.weights, np.array(ids))
            self.assertEqual(found.shape, (weights.WIDTH,))
            self.assertAlmostEqual(float(np.linalg.norm(found)), 1, delta=1e-6)
            self.assertGreater(cosine(found, expected), 1 - 1e-6, len(ids))

    def test_plain_export_computes_what_the_weights_say(self):
        session = ReferenceEvaluator(plain.build_graph(self.weights))
        for ids in TEXTS[:3]:
            padded = np.array([[*ids, 0, 0]], dtype=np.int64)
            mask = np.array([[1] * len(ids) + [0, 0]], dtype=np.int64)
            (hidden,) = session.run(None, {"input_ids": padded, "attention_mask": mask})
            mean = hidden[0, : len(ids)].mean(axis=0)
            expected = reference.embed(self.weights, np.array(ids))
            np.testing.assert_allclose(mean / np.linalg.norm(mean), expected, atol=2e-6)

    def test_other_files_are_refused(self):
        wrong = self.folder / "wrong"
        shutil.copytree(SOURCE, wrong)
        content = bytearray((wrong / "tokenizer.json").read_bytes())
        content[100] ^= 1
        (wrong / "tokenizer.json").write_bytes(content)
        with self.assertRaisesRegex(weights.WrongFile, "tokenizer.json: expected sha256 be50"):
            build.build(wrong, self.folder / "never")
        (wrong / "model.safetensors").unlink()
        with self.assertRaisesRegex(weights.WrongFile, "model.safetensors: no such file"):
            build.build(wrong, self.folder / "never")
        self.assertFalse((self.folder / "never").exists())


if __name__ == "__main__":
    unittest.main()
