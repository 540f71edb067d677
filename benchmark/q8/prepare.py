"""Put the quantised model beside the plain export, for TypeScript with q8.

    python3 benchmark/q8/prepare.py

Only the benchmark needs it. The quantiser's packages are pinned in requirements.txt and kept in
the cache folder of tools/assets.py, from which only the first run needs a network. The script runs
itself with them: python prepare.py MODEL OUT.
"""

import logging
import os
import sys
from pathlib import Path
from sysconfig import get_platform

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from assets.common import (
    cache_folder,
    digest_of,
    digest_of_sources,
    new_folder,
    program,
    say,
    scratch_folder,
)
from assets.packages import HASHED, builder_packages, pip, run

REQUIREMENTS = HERE / "requirements.txt"
MODELS = ROOT / "benchmark" / ".model" / "Xenova" / "all-MiniLM-L6-v2" / "onnx"
PLAIN = MODELS / "model.onnx"
QUANTISED = MODELS / "model_quantized.onnx"
STAMP = ROOT / "benchmark" / ".model" / ".stamp-q8"


def quantiser_packages():
    """A folder with what requirements.txt lists, for this interpreter; made if missing."""
    digest = digest_of_sources([REQUIREMENTS])[:12]
    target = cache_folder() / f"q8-{digest}-{sys.implementation.cache_tag}-{get_platform()}"
    if not target.is_dir():
        say("downloading the quantiser's packages (24 MB)")
        with new_folder(target) as folder:
            pip(
                ["install", *HASHED, "--no-deps", "--requirement", REQUIREMENTS]
                + ["--target", folder],
                f"cannot install {REQUIREMENTS.relative_to(ROOT)} (is there a network?)",
            )
    return target


def quantise_file(model, out):
    """Quantise a model to 8 bits as the conversion script of transformers.js does for q8."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # It recommends a step that transformers.js does not take either.
    logging.disable(logging.WARNING)
    quantize_dynamic(
        model,
        out,
        per_channel=False,
        reduce_range=False,
        weight_type=QuantType.QInt8,
        extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True},
    )


def quantise():
    """Write QUANTISED, all or nothing."""
    folders = [quantiser_packages(), builder_packages()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    environment.update(PYTHONNOUSERSITE="1", PYTHONDONTWRITEBYTECODE="1")
    say("quantising the plain export (some seconds)")
    with scratch_folder(MODELS) as scratch:
        made = scratch / QUANTISED.name
        run([sys.executable, __file__, PLAIN, made], "the quantiser failed", env=environment)
        os.replace(made, QUANTISED)


def prepare():
    """Make what is missing or out of date."""
    wanted = f"{digest_of_sources([*HERE.glob('*.py'), REQUIREMENTS])} {digest_of(PLAIN)}\n"
    done = STAMP.read_text(encoding="utf-8") if STAMP.is_file() else None
    if done == wanted and QUANTISED.is_file():
        say(f"{QUANTISED.relative_to(ROOT)} is up to date")
        return
    # An old one must not be measured as if it were the new one.
    QUANTISED.unlink(missing_ok=True)
    quantise()
    STAMP.write_text(wanted, encoding="utf-8")
    say(f"{QUANTISED.relative_to(ROOT)} is ready")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        quantise_file(*sys.argv[1:])
    else:
        with program("q8"):
            prepare()
