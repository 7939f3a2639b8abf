"""The HTTP surface as an OpenAPI 3.1 document, at /v2/openapi.json."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from ascend_ep.serving.release import installed_version

from .message import Response
from .operations import DOCUMENT, Operation
from .router import Router
from .schemas import components, reference

#: What any request can be answered with: unauthorised, too slow, a too large header, a failure, too many.
_ANY = (400, 401, 408, 431, 500, 503)


def add_to(router: Router, operations: tuple[Operation, ...]) -> None:
    """Serves the description of these operations."""
    router.add_simple("GET", DOCUMENT, lambda request, names: _answer(operations))


@cache
def document(operations: tuple[Operation, ...]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "ascend-serve: Open Inference Protocol v2", "version": installed_version()},
        "paths": paths,
        "components": {"schemas": components(paths)},
    }


def _answer(operations: tuple[Operation, ...]) -> Response:
    return Response(200, (), (msgspec.json.encode(document(operations)),))


def _described(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {"summary": operation.summary, "responses": _responses(operation)}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    if operation.binary:
        parameters.append(
            {
                "name": "Inference-Header-Content-Length",
                "in": "header",
                "description": "The bytes of the JSON; tensors in binary follow it.",
                "schema": {"type": "integer", "minimum": 0},
            }
        )
    if parameters:
        described["parameters"] = parameters
    if operation.takes:
        described["requestBody"] = {
            "required": operation.needs_body,
            "content": _content(operation.takes, operation.binary),
        }
    return described


def _responses(operation: Operation) -> dict[str, Any]:
    error = {"description": "A refusal", "content": _content("Error")}
    statuses = {str(status): error for status in sorted({*_ANY, *operation.statuses})}
    if not operation.gives and not operation.takes:
        return statuses
    answered: dict[str, Any] = {"description": operation.summary}
    if operation.gives:
        answered["content"] = _content(operation.gives, operation.binary)
    return {"200": answered} | statuses


def _content(schema: str, binary: bool = False) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": reference(schema)}}
    if binary:
        content["application/octet-stream"] = {"schema": {"type": "string", "format": "binary"}}
    return content
