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

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from assets.common import digest_of, digest_of_sources, program, say, scratch_folder
from assets.packages import packages, python_environment, run

REQUIREMENTS = HERE / "requirements.txt"
MODELS = ROOT / "benchmark" / ".model" / "Xenova" / "all-MiniLM-L6-v2" / "onnx"
PLAIN = MODELS / "model.onnx"
QUANTISED = MODELS / "model_quantized.onnx"
STAMP = ROOT / "benchmark" / ".model" / ".stamp-q8"


def quantise_file(model, out):
    """Quantise a model to 8 bits as the conversion script of transformers.js does for q8."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # Hides its advice, which transformers.js does not follow either.
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
    environment = python_environment(packages(REQUIREMENTS, "quantiser", "24 MB"))
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
    # An old model must not be measured as the new one.
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
