"""How numbers are stored: 16-bit integers with float32 scales, in a file beside the graph.

Every operation here is one that IEEE 754 rounds exactly (element-wise division, round half to
even), so the stored bytes do not depend on the machine.
"""

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, helper

LARGEST = 32767

# ONNX Runtime maps external data into memory instead of copying it; a mapping starts at a page.
ALIGNMENT = 4096

# Smaller tensors stay inside the graph file: a mapping of its own would cost more than a copy.
EXTERNAL_FROM_BYTES = 65536


@dataclass(frozen=True)
class Quantised:
    """values int16 of the original shape; scale float32 with 1 along `axis`, the summed axis."""

    values: np.ndarray
    scale: np.ndarray

    def decoded(self):
        """The float32 numbers the graph computes with: one rounding, the same everywhere."""
        return self.values.astype(np.float32) * self.scale


def quantise(matrix, axis):
    """Store float32 [n, m] as int16 with one scale for each line along `axis`.

    axis 0: a scale per column ([1, m], the outputs of a linear layer);
    axis 1: a scale per row ([n, 1], the entries of a table).
    """
    exact = matrix.astype(np.float64)
    scale = (np.abs(exact).max(axis=axis, keepdims=True) / LARGEST).astype(np.float32)
    scale[scale == 0] = 1
    values = np.rint(exact / scale.astype(np.float64))
    return Quantised(np.clip(values, -LARGEST, LARGEST).astype(np.int16), scale)


class Store:
    """Collects the initialisers of a graph; the large ones go into one external file."""

    def __init__(self, location):
        self.location = location
        self.tensors = []
        self.data = bytearray()

    def add(self, name, array):
        """Keep `array` under `name` and return the name."""
        # ONNX files are little-endian whatever the machine is.
        raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        tensor = TensorProto()
        tensor.name = name
        tensor.data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor.dims.extend(array.shape)
        if self.location is None or len(raw) < EXTERNAL_FROM_BYTES:
            tensor.raw_data = raw
        else:
            self.data.extend(bytes(-len(self.data) % ALIGNMENT))
            tensor.data_location = TensorProto.EXTERNAL
            entries = {"location": self.location, "offset": len(self.data), "length": len(raw)}
            for key, value in entries.items():
                entry = tensor.external_data.add()
                entry.key, entry.value = key, str(value)
            self.data.extend(raw)
        self.tensors.append(tensor)
        return name
