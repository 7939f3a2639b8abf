"""LabelEncoder of ai.onnx.ml: from numbers to numbers, as a search among sorted keys."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.compiler.lower.arguments import needed
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, Unsupported, lowers
from ascend_ep.element_types import FLOAT32, FLOAT64, INT16, INT32, INT64

KEY_TYPES = (FLOAT32, FLOAT64, INT16, INT32, INT64)
DEFAULTS = {"default_int64": -1, "default_float": -0.0}


def _list(node: NodeView, kind: str, dtype: int) -> NDArray[np.generic]:
    """keys or values, whichever attribute has them."""
    tensor = node.attr(f"{kind}_tensor")
    if tensor is not None:
        return np.asarray(tensor).reshape(-1)
    found = [list(node.attr(f"{kind}_{name}", ())) for name in ("int64s", "floats")]
    if bool(found[0]) == bool(found[1]):
        raise Unsupported(f"its {kind} are no numbers")
    return np.asarray(found[0] or found[1], ir.DataType(dtype).numpy())


def _default(node: NodeView, dtype: int) -> NDArray[np.generic]:
    tensor = node.attr("default_tensor")
    name = "default_float" if dtype == FLOAT32 else "default_int64"
    given = node.attr(name, DEFAULTS[name]) if tensor is None else np.asarray(tensor).reshape(-1)[0]
    return np.asarray([given], ir.DataType(dtype).numpy())


@lowers("label_encoder")
def lower_label_encoder(node: NodeView, b: PlanBuilder) -> None:
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    if source.dtype not in KEY_TYPES or target.dtype not in KEY_TYPES or node.version < 2:
        raise Unsupported("it encodes strings")
    keys, values = _list(node, "keys", source.dtype), _list(node, "values", target.dtype)
    if keys.size != values.size or not keys.size:
        raise Unsupported(f"it has {keys.size} keys and {values.size} values")
    sorted_keys, first = np.unique(keys, return_index=True)  # of equal keys the first counts; NaN is last
    if node.version < 4:  # NaN equals none
        known = sorted_keys == sorted_keys
        sorted_keys, first = sorted_keys[known], first[known]
    tables = [sorted_keys, values[first], _default(node, target.dtype)]
    ins = [b.contiguous(b.ref(source)), *(b.constant(np.ascontiguousarray(t)) for t in tables)]
    b.emit("lookup", ins, [b.out(target)])
