"""Shape inference of declared operators inside onnxruntime, by their definitions' rules."""

from __future__ import annotations

from typing import Any

from ascend_ep.opdef.dims import Dim, symbol
from ascend_ep.opdef.output_types import InputType, infer
from ascend_ep.provider.declarations import definition
from ascend_ep.runtime.binding import ffi, lib, text_of

#: Names of dims that onnxruntime doesn't know; results that depend on them are unknown again.
_UNKNOWN = "asc_unknown_dim_"


def infer_outputs(call: Any) -> None:
    """Fills the outputs of an asc_ep_inference. Raises AscendError for a node its definition doesn't fit."""
    opdef = definition(call.declaration)
    inputs = [_input_type(getattr(call, "in")[i], i) for i in range(call.n_in)]
    while inputs and inputs[-1] is None and len(inputs) > opdef.min_inputs:
        inputs.pop()
    attributes = {text_of(a.name): _value(a) for a in (call.attrs[i] for i in range(call.n_attrs))}
    scalars = {a.name for a in opdef.attributes if not a.type.endswith("s")}
    given = {name: v[0] if name in scalars and isinstance(v, list) else v for name, v in attributes.items()}
    for i, (dtype, dims) in enumerate(infer(opdef, inputs, given)[: call.n_out]):
        call.out[i].dtype = dtype
        if dims is not None and len(dims) <= lib.ASC_MAX_RANK:
            _write_dims(call.out[i], dims)


def _input_type(shape: Any, index: int) -> InputType:
    if shape.dtype == lib.ASC_UNDEFINED:
        return None
    if shape.rank < 0:
        return shape.dtype, None
    return shape.dtype, [_dim(shape, index, axis) for axis in range(shape.rank)]


def _dim(shape: Any, index: int, axis: int) -> Dim:
    if shape.dims[axis] >= 0:
        return int(shape.dims[axis])
    return symbol(text_of(shape.symbols[axis]) or f"{_UNKNOWN}{index}_{axis}")


def _write_dims(out: Any, dims: Any) -> None:
    out.rank = len(dims)
    for axis, dim in enumerate(dims):
        out.dims[axis] = dim if isinstance(dim, int) else -1
        name = "" if isinstance(dim, int) else str(dim)
        if name and _UNKNOWN not in name and len(name.encode()) < lib.ASC_EP_SYMBOL_BYTES:
            out.symbols[axis] = name.encode()


def _value(attribute: Any) -> Any:
    if attribute.kind == lib.ASC_ATTR_STRING:
        return ffi.string(attribute.string).decode("utf-8", "replace")
    values = attribute.ints if attribute.kind == lib.ASC_ATTR_INTS else attribute.floats
    return [values[i] for i in range(attribute.count)]
