"""The op-information library: one operator as ini text and as the JSON of aic-<soc>-ops-info."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascend_ep.opbuild.ascendc.naming import Column
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Attribute, OpDef

#: the library's names of element types where they aren't ours
_NAMES = {dtypes.FLOAT32: "float", dtypes.FLOAT64: "double", dtypes.BFLOAT16: "bfloat16"}
_KINDS = {
    "int": "int", "float": "float", "bool": "bool", "string": "str", "ints": "listInt", "floats": "listFloat",
    "bools": "listBool", "strings": "listStr",
}  # fmt: skip
_OCCURRENCES = {"required": "required", "optional": "optional", "variadic": "dynamic"}


def library_entry(opdef: OpDef, function: str, columns: Sequence[Column]) -> dict[str, dict[str, str]]:
    """Section -> key -> value, as both forms have them."""
    entry: dict[str, dict[str, str]] = {}
    for prefix, specs in (("input", opdef.inputs), ("output", opdef.outputs)):
        for i, spec in enumerate(specs):
            formats = list(spec.formats) or ["ND"]
            entry[f"{prefix}{i}"] = {
                "name": spec.device_name,
                "dtype": ",".join(_NAMES.get(c[spec.name], dtypes.name(c[spec.name])) for c in columns),
                "format": ",".join(formats[k % len(formats)] for k in range(len(columns))),
                "paramType": _OCCURRENCES[spec.occurrence],
            }
    if opdef.attributes:
        entry["attr"] = {"list": ",".join(a.name for a in opdef.attributes)}
    for attribute in opdef.attributes:
        entry[f"attr_{attribute.name}"] = _attribute(attribute)
    entry["dynamicShapeSupport"] = {"flag": "true" if all(s.dynamic_shape for s in opdef.inputs) else "false"}
    if opdef.need_check_supported:
        entry["needCheckSupport"] = {"flag": "true"}
    entry["opFile"] = {"value": function}
    entry["opInterface"] = {"value": function}
    return entry


def ini_text(opdef: OpDef, function: str, columns: Sequence[Column]) -> str:
    """tbe/op_info_cfg/ai_core/<soc>/<op>.ini."""
    lines = [f"[{opdef.op}]"]
    for section, values in library_entry(opdef, function, columns).items():
        lines += [f"{section}.{key}={value}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def json_entry(opdef: OpDef, function: str, columns: Sequence[Column]) -> dict[str, Any]:
    """The map of one operator in aic-<soc>-ops-info.json."""
    return {opdef.op: library_entry(opdef, function, columns)}


def _attribute(attribute: Attribute) -> dict[str, str]:
    allowed = ",".join(map(_text, attribute.allowed)) or "all"
    values = {
        "type": _KINDS[attribute.type],
        "value": allowed,
        "paramType": "required" if attribute.required else "optional",
    }
    if attribute.default is not None and not attribute.required:
        values["defaultValue"] = _text(attribute.default)
    return values


def _text(value: object) -> str:
    """One line; what would end or structure the ini is left out."""
    if isinstance(value, tuple):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "".join(c for c in str(value) if c.isprintable())
