"""JSON Schemas of what travels over HTTP. What has a type in Python is generated from it."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from ascend_ep.serving import descriptions
from ascend_ep.serving.datatypes import DTYPES
from ascend_ep.serving.page.state import PageState
from ascend_ep.serving.repository.index import State
from ascend_ep.serving.tensors import MAX_RANK

from .admin import LogBody, ShadowBody, SplitBody
from .control import IndexBody, LoadBody, UnloadBody
from .json_body import JsonBody, NoFields

_PREFIX = "#/components/schemas/"
_BODIES: tuple[type[JsonBody], ...] = (
    IndexBody,
    LoadBody,
    UnloadBody,
    SplitBody,
    ShadowBody,
    LogBody,
    NoFields,
)
_TYPED = (
    descriptions.ServerMetadata,
    descriptions.ModelMetadata,
    descriptions.ModelConfiguration,
    descriptions.ModelStatistics,
    PageState,
    *_BODIES,
)

_NAME = {"type": "string"}
_SIZE = {"type": "integer", "minimum": 0}
_SHAPE = {"type": "array", "items": _SIZE, "maxItems": MAX_RANK}
_DATATYPE = {"type": "string", "enum": list(DTYPES)}
_DATA = {"type": "array", "description": "The elements, row-major, flat or nested."}
_PARAMETERS = {
    "type": ["object", "null"],
    "additionalProperties": {"type": ["boolean", "integer", "number", "string", "null"]},
}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


_WRITTEN: dict[str, Any] = {
    "Error": _object({"error": {"type": "string", "description": "A code, what is wrong, what to do."}}),
    "Live": _object({"live": {"const": True}}),
    "Ready": _object({"ready": {"const": True}}),
    "ModelReady": _object({"name": _NAME, "ready": {"const": True}}),
    "NoSettings": _object({}),
    "OpenApi": {"type": "object", "required": ["openapi", "paths"]},
    "AdminState": _object(
        {
            "ready": {"type": "boolean"},
            "draining": {"type": "boolean"},
            "models": {"type": "object", "additionalProperties": {"$ref": f"{_PREFIX}AdminModel"}},
        }
    ),
    "AdminModel": _object(
        {"versions": {"type": "array", "items": _SIZE}},
        {
            "split": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
            "shadow": {"type": "object", "required": ["version", "share", "comparison"]},
        },
    ),
    "Draining": _object({"draining": {"type": "boolean"}}),
    "LogLevel": _object({"level": _NAME}),
    "InferenceRequest": _object(
        {"inputs": {"type": "array", "items": {"$ref": f"{_PREFIX}RequestInput"}}},
        {
            "id": {"type": ["string", "null"]},
            "parameters": _PARAMETERS,
            "outputs": {"type": ["array", "null"], "items": {"$ref": f"{_PREFIX}RequestOutput"}},
            "model_name": {"type": ["string", "null"]},
            "model_version": {"type": ["string", "null"]},
        },
    ),
    "RequestInput": _object(
        {"name": _NAME, "shape": _SHAPE, "datatype": _DATATYPE},
        {"parameters": _PARAMETERS, "data": _DATA | {"type": ["array", "null"]}},
    ),
    "RequestOutput": _object({"name": _NAME}, {"parameters": _PARAMETERS}),
    "InferenceResponse": _object(
        {
            "model_name": _NAME,
            "model_version": _NAME,
            "outputs": {"type": "array", "items": {"$ref": f"{_PREFIX}ResponseOutput"}},
        },
        {"id": {"type": "string"}, "parameters": _PARAMETERS},
    ),
    "ResponseOutput": _object(
        {"name": _NAME, "shape": _SHAPE, "datatype": _DATATYPE},
        {"data": _DATA, "parameters": _object({"binary_data_size": _SIZE})},
    ),
    "RepositoryIndex": {
        "type": "array",
        "items": _object(
            {
                "name": _NAME,
                "version": {"type": "string"},
                "state": {"type": "string", "enum": ["", *State]},
                "reason": {"type": "string"},
            }
        ),
    },
}


def components(paths: Any) -> dict[str, Any]:
    """Those that a description refers to, and those that they refer to, by name."""
    known, found = _all(), dict[str, Any]()
    new = _references(paths)
    while new:
        found |= {name: known[name] for name in sorted(new)}
        new = _references(found) - found.keys()
    return found


def reference(name: str) -> dict[str, str]:
    return {"$ref": _PREFIX + name}


@cache
def _all() -> dict[str, Any]:
    _, typed = msgspec.json.schema_components(_TYPED, ref_template=_PREFIX + "{name}")
    for kind in _BODIES:
        typed[kind.__name__]["examples"] = [kind.example]
    return typed | _WRITTEN


def _references(described: Any) -> set[str]:
    if isinstance(described, dict):
        own = described.get("$ref")
        return {own.removeprefix(_PREFIX)} if isinstance(own, str) else _references(list(described.values()))
    return set().union(*map(_references, described)) if isinstance(described, list) else set()
