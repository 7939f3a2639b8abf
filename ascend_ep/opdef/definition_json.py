"""A definition as the map that loader.py reads back as the same definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Attribute, Formula, Kernel, OpDef, TensorSpec


def definition_map(opdef: OpDef) -> dict[str, Any]:
    """The JSON of a definition by formula, by kernel, or of a declaration. Raises ValueError for one by a
    file, whose path depends on where the definition is kept."""
    variables = {t.variable: t.types for t in (*opdef.inputs, *opdef.outputs) if t.variable}
    result: dict[str, Any] = {"op": opdef.op}
    if opdef.domain is not None:
        result["domain"] = opdef.domain
    if opdef.since_version is not None:
        result["since_version"] = opdef.since_version
    if opdef.doc:
        result["doc"] = opdef.doc
    if variables:
        result["types"] = {name: _type_names(types) for name, types in variables.items()}
    of_msopgen = opdef.paired or any(t.overwrites for t in opdef.outputs)
    described = ("input_desc", "output_desc") if of_msopgen else ("inputs", "outputs")
    for key, specs in zip(described, (opdef.inputs, opdef.outputs), strict=True):
        result[key] = [_tensor(t) for t in specs]
    if opdef.attributes:
        result["attributes"] = [_attribute(a) for a in opdef.attributes]
    if opdef.shape:
        result["shape"] = dict(opdef.shape)
    if opdef.kernel_name:
        result["kernel_name"] = opdef.kernel_name
    if opdef.need_check_supported:
        result["need_check_supported"] = True
    if isinstance(opdef.semantics, Kernel):
        result["kernel"] = opdef.semantics.name
    if opdef.formula is not None:
        lines = opdef.formula.split("\n")
        result["formula"] = lines[0] if len(lines) == 1 else lines
    if not isinstance(opdef.semantics, Formula | Kernel | None):
        raise ValueError(f"{opdef.full_name} is defined by a file")
    return result


def _type_names(types: Sequence[int]) -> list[str]:
    return [dtypes.name(t) for t in types]


def _tensor(spec: TensorSpec) -> dict[str, Any]:
    result: dict[str, Any] = {"name": spec.device_name}
    if spec.variable or spec.types:
        result["type"] = spec.variable or _type_names(spec.types)
    if spec.occurrence != "required":
        result["param_type"] = spec.occurrence
    if spec.formats:
        result["format"] = list(spec.formats)
    if not spec.dynamic_shape:
        result["dynamic_shape"] = False
    if spec.required_shape is not None:
        result["required_shape"] = list(spec.required_shape)
    return result | ({"doc": spec.doc} if spec.doc else {})


def _attribute(attribute: Attribute) -> dict[str, Any]:
    result: dict[str, Any] = {"name": attribute.name, "type": attribute.type}
    if attribute.required:
        result["required"] = True
    if attribute.default is not None:
        value = attribute.default
        result["default"] = list(value) if isinstance(value, tuple) else value
    if attribute.allowed:
        result["allowed"] = list(attribute.allowed)
    if attribute.input:
        result["input"] = attribute.input
    return result | ({"doc": attribute.doc} if attribute.doc else {})
