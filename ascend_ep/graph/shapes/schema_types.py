"""What the ONNX schema says of a node: its inputs and attributes, and the types of its outputs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import onnx

from ascend_ep.errors import did_you_mean
from ascend_ep.graph.shapes.rule import Call

_TYPE_NAMES = {
    "tensor(float)": 1, "tensor(uint8)": 2, "tensor(int8)": 3, "tensor(uint16)": 4, "tensor(int16)": 5,
    "tensor(int32)": 6, "tensor(int64)": 7, "tensor(string)": 8, "tensor(bool)": 9, "tensor(float16)": 10,
    "tensor(double)": 11, "tensor(uint32)": 12, "tensor(uint64)": 13, "tensor(complex64)": 14,
    "tensor(complex128)": 15, "tensor(bfloat16)": 16,
}  # fmt: skip


@lru_cache(maxsize=4096)
def find_schema(domain: str, op_type: str, version: int) -> onnx.defs.OpSchema | None:
    """The ONNX schema in force, or None for operators ONNX doesn't know."""
    try:
        return onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return None


@lru_cache(maxsize=4096)
def attribute_types(domain: str, op_type: str, version: int) -> dict[str, int]:
    """The types (AttributeProto.type) of an operator's attributes; empty for one that ONNX doesn't know."""
    schema = find_schema("" if domain == "ai.onnx" else domain, op_type, version) if version else None
    attributes: dict[str, Any] = {} if schema is None else schema.attributes
    return {name: int(a.type) for name, a in attributes.items()}


def output_types(call: Call) -> list[int]:
    """ONNX type numbers of the outputs; 0 where the schema leaves it open."""
    domain = "" if call.node.domain == "ai.onnx" else call.node.domain
    schema = find_schema(domain, call.node.op_type, call.version)
    if schema is None:
        return [0] * call.n_outputs
    bound: dict[str, int] = {}
    for index in range(len(call.inputs)):
        if not schema.inputs:
            break
        variable = schema.inputs[min(index, len(schema.inputs) - 1)].type_str
        if call.dtype(index):
            bound.setdefault(variable, call.dtype(index))
    allowed = {c.type_param_str: tuple(c.allowed_type_strs) for c in schema.type_constraints}
    result = []
    for index in range(call.n_outputs):
        if not schema.outputs:
            result.append(0)
            continue
        variable = schema.outputs[min(index, len(schema.outputs) - 1)].type_str
        single = allowed.get(variable, ())
        result.append(
            bound.get(variable)
            or _TYPE_NAMES.get(variable)
            or (_TYPE_NAMES.get(single[0], 0) if len(single) == 1 else 0)
        )
    return result


def check_signature(call: Call, schema: onnx.defs.OpSchema) -> None:
    """Refuses a node with inputs, outputs or attributes that its ONNX operator doesn't have."""
    for what, count, least, most in (
        ("inputs", len(call.inputs), schema.min_input, schema.max_input),
        ("outputs", call.n_outputs, schema.min_output, schema.max_output),
    ):
        if not least <= count <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            call.fail(f"it has {count} {what}, and {schema.name} of opset {call.version} takes {wanted}")
    for name in call.node.attributes:
        if name not in schema.attributes:
            call.fail(
                f"{schema.name} of opset {call.version} has no attribute {name!r}"
                + did_you_mean(name, schema.attributes).rstrip("?")
            )
