"""The structure of a definition file: opdef.schema.json, with its violations put into words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opdef.jsontext import Document, escape_pointer

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError


@cache
def _validator() -> Draft202012Validator:
    from jsonschema import Draft202012Validator  # 100 ms; only the compile side reads definitions

    schema = json.loads(Path(__file__).with_name("opdef.schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator(schema)


def check_structure(document: Document) -> None:
    """Raises E41003 to E41005 for the outermost place where the document isn't what the schema says."""
    errors = sorted(
        _validator().iter_errors(document.value), key=lambda e: (len(e.absolute_path), str(e.absolute_path))
    )
    if errors:
        raise _explain(document, errors[0])


def _explain(document: Document, error: ValidationError) -> AscendError:
    """A schema violation as an AscendError that says what is allowed."""
    pointer = "".join("/" + escape_pointer(str(part)) for part in error.absolute_path)
    where = document.where(pointer)
    rule, limit = error.validator, error.validator_value
    key = str(error.absolute_path[-1]) if error.absolute_path else "definition"
    if rule == "additionalProperties" and isinstance(error.instance, dict):
        known = cast(Mapping[str, Any], error.schema)["properties"]
        unknown = next(k for k in error.instance if k not in known)
        where = document.where(f"{pointer}/{escape_pointer(unknown)}")
        return AscendError(
            "E41003",
            short(unknown),
            did_you_mean(unknown, known),
            where=where,
            details=["allowed: " + ", ".join(known)],
        )
    if rule == "required" and isinstance(error.instance, dict):
        missing = next(k for k in cast(Sequence[str], limit) if k not in error.instance)
        return AscendError("E41004", missing, where=where)
    reasons = {
        "type": f"it must be {_alternatives(limit)}",
        "enum": "it must be one of " + ", ".join(map(str, limit)) if isinstance(limit, list) else "",
        "pattern": "a name has letters, digits and _, and doesn't start with a digit",
        "minimum": f"it must be at least {limit}",
        "maximum": f"it must be at most {limit}",
        "maxItems": f"there may be at most {limit} items",
        "minItems": f"there must be at least {limit} item",
        "maxLength": f"it may have at most {limit} characters",
        "minLength": "it is empty",
    }
    return AscendError("E41005", short(error.instance), key, reasons.get(str(rule), str(rule)), where=where)


def _alternatives(types: object) -> str:
    words = {"array": "a list", "object": "a map", "integer": "an integer"}
    names = types if isinstance(types, list) else [types]
    return " or ".join(words.get(str(n), f"a {n}") for n in names)


def short(value: object) -> str:
    """A value as it is shown in an error."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
