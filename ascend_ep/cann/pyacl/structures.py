"""Structures of AscendCL as dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .library import ffi

#: The field that says how many elements of an array count.
_COUNTS = {"dims": "dimCount", "batch": "batchCount", "hw": "hwCount", "outDims": "shapeCount"}


def is_known(kind: Any) -> bool:
    """Whether a type is a structure whose fields the headers give."""
    if kind.kind not in ("struct", "union"):
        return False
    try:
        ffi().sizeof(kind)  # before `fields`, which ends the process for a structure that isn't complete
    except (TypeError, ffi().error):
        return False
    return True


def to_dict(value: Any) -> dict[str, Any]:
    """The fields by name: numbers, texts, lists as long as their counts say, dictionaries, addresses."""
    fields = dict(ffi().typeof(value).fields)
    found: dict[str, Any] = {}
    for name, field in fields.items():
        item = getattr(value, name)
        if field.type.kind == "array" and field.type.item.cname != "char":
            count = getattr(value, _COUNTS[name]) if _COUNTS.get(name) in fields else len(item)
            found[name] = [_shown(item[i], field.type.item) for i in range(min(count, len(item)))]
        else:
            found[name] = _shown(item, field.type)
    return found


def _shown(item: Any, kind: Any) -> Any:
    if kind.kind == "array":
        if kind.item.cname == "char":
            return ffi().string(item).decode("utf-8", "replace")
        return [_shown(element, kind.item) for element in item]
    if is_known(kind):
        return to_dict(item)
    if kind.kind == "pointer":
        return int(ffi().cast("uintptr_t", item))
    return item if isinstance(item, float) else int(item)


def from_dict(kind: Any, given: Mapping[str, Any]) -> Any:
    """A new structure with these fields; those that aren't named are 0.

    Raises TypeError for what is no mapping, KeyError for a name that is no field.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"a dict is needed for {kind.cname}, not {type(given).__name__}")
    made = ffi().new(f"{kind.cname} *")
    fields = dict(kind.fields)
    for name, item in given.items():
        if name not in fields:
            raise KeyError(f"{kind.cname} has no field {name}; it has {', '.join(fields)}")
        field = fields[name].type
        if field.kind == "array":
            setattr(made, name, item.encode() if isinstance(item, str) else list(item))
        elif is_known(field):
            setattr(made, name, from_dict(field, item)[0])
        else:
            setattr(made, name, ffi().cast(field, item))
    return made
