"""What can be asked over HTTP: of the protocol's port, and of the admin socket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import page
from .v2 import MODEL, VERSION

#: Where the description of the operations is.
DOCUMENT = "/v2/openapi.json"


@dataclass(frozen=True)
class Operation:
    """gives, takes: names of schemas, "" for no body. needs_body: one without isn't taken. binary: tensors in
    binary may follow the JSON. statuses: refusals of its own."""

    method: str
    path: str
    summary: str
    gives: str = ""
    takes: str = ""
    needs_body: bool = False
    binary: bool = False
    statuses: tuple[int, ...] = ()


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


_V2: tuple[Operation, ...] = (
    Operation("GET", "/v2", "What this server is", "ServerMetadata"),
    Operation("GET", "/v2/health/live", "Whether it answers", "Live"),
    Operation("GET", "/v2/health/ready", "Whether every model is ready", "Ready"),
    Operation("GET", "/v2/models/stats", "Statistics of all models", "ModelStatistics"),
    Operation("GET", DOCUMENT, "This document", "OpenApi"),
    *_of_models("", "What a model takes and gives", gives="ModelMetadata"),
    *_of_models("/ready", "Whether a model is ready", gives="ModelReady"),
    *_of_models("/config", "How a model is served", gives="ModelConfiguration"),
    *_of_models("/stats", "Statistics of a model", gives="ModelStatistics"),
    *_of_models(
        "/infer",
        "Inference",
        gives="InferenceResponse",
        takes="InferenceRequest",
        needs_body=True,
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
)  # fmt: skip

#: Of the protocol's port.
PUBLIC = (
    *_V2,
    Operation("GET", page.STATE, "What the page at / shows", "PageState"),
    *_absent(),
)

_ADMIN_MODEL = "/admin/models/{model}"
_SPLIT, _SHADOW = f"{_ADMIN_MODEL}/split", f"{_ADMIN_MODEL}/shadow"


def _sets(path: str, summary: str, gives: str, takes: str, *statuses: int) -> Operation:
    return Operation(
        "PUT", path, summary, gives, takes, needs_body=takes != "NoFields", statuses=(*_BODY, *statuses)
    )


def _clears(path: str, summary: str, gives: str, *statuses: int) -> Operation:
    return Operation("DELETE", path, summary, gives, "NoFields", statuses=(*_BODY, *statuses))


#: Of the admin socket.
OPERATORS = (
    *_V2,
    Operation("GET", "/admin", "The models, and what operators have set", "AdminState"),
    Operation("GET", _ADMIN_MODEL, "A model, and what operators have set", "AdminModel", statuses=(404,)),
    _sets(_SPLIT, "Divide requests among versions", "AdminModel", "SplitBody", 404),
    _clears(_SPLIT, "The split of the configuration again", "AdminModel", 404),
    _sets(_SHADOW, "Run requests once more on a version", "AdminModel", "ShadowBody", 404),
    _clears(_SHADOW, "The shadow of the configuration again", "AdminModel", 404),
    _sets("/admin/drain", "Say that the server isn't ready", "Draining", "NoFields"),
    _clears("/admin/drain", "Be ready again", "Draining"),
    _sets("/admin/log", "Set the level of the log", "LogLevel", "LogBody"),
)
