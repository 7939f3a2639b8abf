"""The HTTP surface as an OpenAPI 3.1 document, at /v2/openapi.json."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from ascend_ep.serving.release import installed_version

from . import page
from .message import Request, Response
from .router import Router
from .schemas import components, reference
from .v2 import MODEL, VERSION

PATH = "/v2/openapi.json"


@dataclass(frozen=True)
class Operation:
    """gives, takes: names of schemas, "" for no body. binary: tensors in binary may follow the JSON.
    statuses: refusals of its own."""

    method: str
    path: str
    summary: str
    gives: str = ""
    takes: str = ""
    binary: bool = False
    statuses: tuple[int, ...] = ()


#: What any request can be answered with: unauthorised, too slow, a too large header, a failure, too many.
_ANY = (400, 401, 408, 431, 500, 503)
_BODY = (413,)


def _of_models(suffix: str, summary: str, **more: Any) -> list[Operation]:
    method = "POST" if more.get("takes") else "GET"
    statuses = (404, *more.pop("statuses", ()))
    return [
        Operation(method, f"{base}{suffix}", summary, statuses=statuses, **more) for base in (MODEL, VERSION)
    ]


def _absent() -> list[Operation]:
    said = "Shared memory: isn't here"
    operations: list[Operation] = []
    for kind in ("system", "cuda", "tpu"):
        base = f"/v2/{kind}sharedmemory"
        for path in (f"{base}/status", f"{base}/region/{{region}}/status"):
            operations.append(Operation("GET", path, said, statuses=(404,)))
        for path in (f"{base}/unregister", f"{base}/region/{{region}}/{{action}}"):
            operations.append(Operation("POST", path, said, statuses=(404,)))
    for path in ("/v2/trace/setting", f"{MODEL}/trace/setting", "/v2/logging"):
        operations.append(Operation("GET", path, "Settings: none", "NoSettings"))
        operations.append(Operation("POST", path, "Settings: none can be changed", statuses=(404,)))
    return operations


OPERATIONS: Sequence[Operation] = (
    Operation("GET", "/v2", "What this server is", "ServerMetadata"),
    Operation("GET", "/v2/health/live", "Whether it answers", "Live"),
    Operation("GET", "/v2/health/ready", "Whether every model is ready", "Ready"),
    Operation("GET", "/v2/models/stats", "Statistics of all models", "ModelStatistics"),
    Operation("GET", PATH, "This document", "OpenApi"),
    Operation("GET", page.STATE, "What the page at / shows", "PageState"),
    *_of_models("", "What a model takes and gives", gives="ModelMetadata"),
    *_of_models("/ready", "Whether a model is ready", gives="ModelReady"),
    *_of_models("/config", "How a model is served", gives="ModelConfiguration"),
    *_of_models("/stats", "Statistics of a model", gives="ModelStatistics"),
    *_of_models(
        "/infer",
        "Inference",
        gives="InferenceResponse",
        takes="InferenceRequest",
        binary=True,
        statuses=(*_BODY, 415, 417, 499, 504),
    ),
    Operation(
        "POST", "/v2/repository/index", "All models and their states", "RepositoryIndex", "IndexBody",
        statuses=_BODY,
    ),
    Operation(
        "POST", "/v2/repository/models/{model}/load", "Load or reload a model", "", "LoadBody",
        statuses=(*_BODY, 403, 404),
    ),
    Operation(
        "POST", "/v2/repository/models/{model}/unload", "Take a model away", "", "UnloadBody",
        statuses=(*_BODY, 403, 404),
    ),
    *_absent(),
)  # fmt: skip


def add_to(router: Router) -> None:
    router.add_simple("GET", PATH, lambda request, names: _answer(request))


@cache
def document() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "ascend-serve: Open Inference Protocol v2", "version": installed_version()},
        "paths": paths,
        "components": {
            "schemas": components() | {"OpenApi": {"type": "object", "required": ["openapi", "paths"]}}
        },
    }


def _answer(request: Request) -> Response:
    return Response(200, (), (msgspec.json.encode(document()),))


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
            "required": operation.binary,
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
