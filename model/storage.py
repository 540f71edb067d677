"""How numbers are stored: 16-bit integers with float32 scales, in a file beside the graph.

Every operation here is one that IEEE 754 rounds exactly (element-wise division, round half to
even), so the stored bytes do not depend on the machine.
"""

from collections import namedtuple

import numpy as np
from onnx import helper
from onnx.external_data_helper import set_external_data

LARGEST = 32767

# Columns that lie side by side in a panel: one AVX-512 register of float32, two of AVX2.
PANEL = 16

# ONNX Runtime maps external data into memory instead of copying it, if it starts where the system
# can map a file: at a page, or on Windows at 64 KiB. Smaller tensors share pages, but no cache line.
MAPPING = 65536
LINE = 64

# Smaller tensors stay inside the graph file.
EXTERNAL_FROM_BYTES = 1024


# values int16 of the original shape; scale float32 with 1 along `axis`, the summed axis.
Quantised = namedtuple("Quantised", "values scale")


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


def to_panels(matrix):
    """[k, n] -> [n / PANEL, k, PANEL]: panel p holds the columns from PANEL * p on."""
    inputs, outputs = matrix.shape
    split = matrix.reshape(inputs, outputs // PANEL, PANEL)
    return np.ascontiguousarray(split.transpose(1, 0, 2))


def from_panels(panels):
    """The inverse of to_panels."""
    count, inputs, _ = panels.shape
    return panels.transpose(1, 0, 2).reshape(inputs, count * PANEL)


class Store:
    """Collects the initialisers of a graph; all but tiny ones go into the file `location`, if given.

    The file has the bytes `data`, in the order in which the nodes of the graph need them.
    """

    def __init__(self, location=None):
        self.location = location
        self.data = bytearray()
        self.tensors = []

    def add(self, name, array):
        """Keep `array` under `name` and return the name."""
        # ONNX files are little-endian whatever the machine is.
        raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor = helper.make_tensor(name, kind, array.shape, raw, raw=True)
        if self.location is not None and len(raw) >= EXTERNAL_FROM_BYTES:
            alignment = MAPPING if len(raw) >= MAPPING else LINE
            self.data.extend(bytes(-len(self.data) % alignment))
            set_external_data(tensor, self.location, len(self.data), len(raw))
            tensor.ClearField("raw_data")
            self.data.extend(raw)
        self.tensors.append(tensor)
        return name
