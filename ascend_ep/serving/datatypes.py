"""The protocol's names of element types, beside numpy's and onnxruntime's."""

from __future__ import annotations

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.runtime.element_types import BFLOAT16, STRING, number_of_name, numpy_dtype

#: ONNX element type -> the name in the Open Inference Protocol.
_NAMES = {
    9: "BOOL",
    2: "UINT8",
    4: "UINT16",
    12: "UINT32",
    13: "UINT64",
    3: "INT8",
    5: "INT16",
    6: "INT32",
    7: "INT64",
    10: "FP16",
    1: "FP32",
    11: "FP64",
    BFLOAT16: "BF16",
    STRING: "BYTES",
}

#: The protocol's name -> numpy's dtype, little-endian as on the wire. BYTES is object.
DTYPES: dict[str, np.dtype[np.generic]] = {name: numpy_dtype(number) for number, name in _NAMES.items()}

BYTES = "BYTES"


def datatype_of(type_name: str, tensor: str, where: str) -> str:
    """The protocol's name for `tensor(float)` and so on. Raises AscendError E50015 for a type it lacks."""
    name = _NAMES.get(number_of_name(type_name))
    if name is None:
        raise AscendError("E50015", tensor, type_name, where=where)
    return name
