"""Put the quantised model beside the plain export, for TypeScript with q8.

    python3 benchmark/q8/prepare.py

Only the benchmark needs it. The model and the quantiser's packages, which are pinned in
requirements.txt, are kept in the cache folder of tools/assets.py, so only the first run needs a
network. The script runs itself with the packages: python prepare.py MODEL OUT.
"""

import logging
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from assets.common import (
    cache_folder,
    digest_of,
    digest_of_sources,
    new_folder,
    program,
    put,
    say,
)
from assets.packages import packages, python_environment, run

REQUIREMENTS = HERE / "requirements.txt"
PLAIN = ROOT / "benchmark" / ".model" / "Xenova" / "all-MiniLM-L6-v2" / "onnx" / "model.onnx"
QUANTISED = PLAIN.with_name("model_quantized.onnx")


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


def quantise(out):
    """Write the quantised model into the folder `out`."""
    environment = python_environment(packages(REQUIREMENTS, "quantiser", "24 MB"))
    say("quantising the plain export (some seconds)")
    command = [sys.executable, __file__, PLAIN, out / QUANTISED.name]
    run(command, "the quantiser failed", env=environment)


def prepare():
    """Put the model in place, made unless it is in the cache."""
    # An old model must not be measured as the new one.
    QUANTISED.unlink(missing_ok=True)
    digests = digest_of(PLAIN)[:12], digest_of_sources([*HERE.glob("*.py"), REQUIREMENTS])[:12]
    made = cache_folder() / "-".join(["quantised", *digests])
    if not made.is_dir():
        with new_folder(made) as out:
            quantise(out)
    put(made / QUANTISED.name, QUANTISED)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        quantise_file(*sys.argv[1:])
    else:
        with program("q8"):
            prepare()
