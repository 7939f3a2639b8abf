"""The protocol's names of element types, beside numpy's and onnxruntime's."""

from __future__ import annotations

import numpy as np

from ascend_ep.element_types import ELEMENT_TYPES, number_of_name, numpy_dtype
from ascend_ep.errors import AscendError

#: The protocol's name -> numpy's dtype, little-endian as on the wire. BYTES is object.
DTYPES: dict[str, np.dtype[np.generic]] = {
    row.protocol: numpy_dtype(number) for number, row in ELEMENT_TYPES.items() if row.protocol
}

BYTES = "BYTES"


def datatype_of(type_name: str, tensor: str, where: str) -> str:
    """The protocol's name for `tensor(float)` and so on. Raises AscendError E50015 for a type it lacks."""
    row = ELEMENT_TYPES.get(number_of_name(type_name))
    if row is None or not row.protocol:
        raise AscendError("E50015", tensor, type_name, where=where)
    return row.protocol
