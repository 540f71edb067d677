"""Quantise a model to 8 bits as the conversion script of transformers.js does for q8.

python benchmark/q8/quantize.py MODEL OUT
"""

import logging
import sys

from onnxruntime.quantization import QuantType, quantize_dynamic


def main():
    # It recommends a step that transformers.js does not take either.
    logging.disable(logging.WARNING)
    model, out = sys.argv[1:]
    quantize_dynamic(
        model,
        out,
        per_channel=False,
        reduce_range=False,
        weight_type=QuantType.QInt8,
        extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True},
    )


if __name__ == "__main__":
    main()
