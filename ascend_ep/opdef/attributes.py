"""The attributes of a node as its definition reads them: checked, of the declared type, with defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opdef.definition import Attribute, AttributeValue, Formula, OpDef

_ELEMENTS = {"ints": "int", "floats": "float", "bools": "bool", "strings": "string"}


def bind_attributes(opdef: OpDef, given: Mapping[str, Any], where: str = "") -> dict[str, AttributeValue]:
    """Every attribute that is given or has a default, by name. Raises E41011 for what isn't allowed.

    ONNX has no booleans and no distinction of 1 and 1.0 in hand-made nodes: int counts as float and bool.
    """
    known = {a.name: a for a in opdef.attributes}
    bound: dict[str, AttributeValue] = {a.name: a.default for a in opdef.attributes if a.default is not None}
    for name, value in given.items():
        if name not in known:
            allowed = f"attributes: {', '.join(known) or 'none'}.{did_you_mean(name, known)}"
            reason = f"there is no attribute [{name[:80]}]"
            raise AscendError("E41011", opdef.op, reason, where=where, details=[allowed])
        bound[name] = _converted(opdef, known[name], value, where)
    missing = [a.name for a in opdef.attributes if a.required and a.name not in given]
    if missing:
        raise AscendError("E41011", opdef.op, f"the attribute [{missing[0]}] is required", where=where)
    return bound


def with_elements(opdef: OpDef, inputs: Sequence[Any], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes with those that elements of inputs say, where a formula reads them. inputs: arrays."""
    if not isinstance(opdef.semantics, Formula):
        return given
    arrays = {t.name: a for t, a in zip(opdef.inputs, inputs, strict=False) if a is not None}
    said = {a.name: arrays[a.input] for a in opdef.attributes if a.input in arrays}
    return {**given, **{name: np.asarray(array).reshape(-1)[0].item() for name, array in said.items()}}


def _converted(opdef: OpDef, attribute: Attribute, value: Any, where: str) -> AttributeValue:
    element = _ELEMENTS.get(attribute.type)
    try:
        if element is None:
            result: Any = _scalar(attribute.type, value)
        else:
            result = tuple(
                _scalar(element, v) for v in (value if not isinstance(value, str | bytes) else [value])
            )
    except (TypeError, ValueError):
        reason = f"attribute [{attribute.name}] must be of type {attribute.type}, not {str(value)[:80]!r}"
        raise AscendError("E41011", opdef.op, reason, where=where) from None
    if attribute.allowed and result not in attribute.allowed:
        allowed = ", ".join(map(str, attribute.allowed))
        reason = f"attribute [{attribute.name}] is {str(result)[:80]}, not one of {allowed}"
        raise AscendError("E41011", opdef.op, reason, where=where)
    return result  # type: ignore[no-any-return]


def _scalar(kind: str, value: Any) -> int | float | bool | str:
    if kind == "string":
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, str):
            return value
    elif kind == "float" and isinstance(value, Real):
        return float(value)
    elif kind == "bool" and value in (0, 1):
        return bool(value)
    elif kind == "int" and isinstance(value, Integral):
        return int(value)
    raise TypeError(kind)
