"""The interface of a standard ONNX operator, from onnx.defs: our files of these name only semantics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Attribute, AttributeType, AttributeValue, Occurrence, OpDef, TensorSpec

_ATTRIBUTE_TYPES: dict[str, AttributeType] = {
    "INT": "int",
    "FLOAT": "float",
    "STRING": "string",
    "INTS": "ints",
    "FLOATS": "floats",
    "STRINGS": "strings",
}
_OCCURRENCES: dict[str, Occurrence] = {"Single": "required", "Optional": "optional", "Variadic": "variadic"}


def with_onnx_interface(opdef: OpDef, version: int) -> OpDef | None:
    """`opdef` with the inputs, outputs and attributes of onnx.defs at this opset; None if ONNX lacks it.

    Attributes that are tensors or graphs are left out: formulas can't name them.
    """
    import onnx.defs  # the compile side only, and only when a standard operator is asked for

    try:
        schema = onnx.defs.get_schema(opdef.op, version, opdef.domain or "")
    except onnx.defs.SchemaError:
        return None
    constraints = {c.type_param_str: _element_types(c.allowed_type_strs) for c in schema.type_constraints}

    def tensors(parameters: Any) -> tuple[TensorSpec, ...]:
        return tuple(
            TensorSpec(
                name=p.name,
                types=constraints.get(p.type_str) or _element_types([p.type_str]),
                variable=p.type_str if p.type_str in constraints else "",
                occurrence=_OCCURRENCES[p.option.name],
            )
            for p in parameters
        )

    return replace(
        opdef,
        since_version=schema.since_version,
        inputs=tensors(schema.inputs),
        outputs=tensors(schema.outputs),
        attributes=tuple(
            Attribute(a.name, _ATTRIBUTE_TYPES[kind], _default(a.default_value), bool(a.required))
            for a in schema.attributes.values()
            if (kind := str(a.type).rpartition(".")[2]) in _ATTRIBUTE_TYPES
        ),
    )


def _element_types(type_strings: Any) -> tuple[int, ...]:
    names = (str(s).removeprefix("tensor(").removesuffix(")") for s in type_strings)
    return tuple(sorted(dtypes.NUMBERS[n] for n in names if n in dtypes.NUMBERS))


def _default(proto: Any) -> AttributeValue | None:
    import onnx

    if proto.type == onnx.AttributeProto.UNDEFINED:
        return None
    value = onnx.helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return float(f"{np.float32(value):.9g}") if np.float32(value) == value else value
    if isinstance(value, list):
        return tuple(v.decode() if isinstance(v, bytes) else v for v in value)
    return value  # type: ignore[no-any-return]
