"""Extensions of the protocol that this server doesn't have: each path says so, instead of being unknown."""

from __future__ import annotations

from ascend_ep.errors import AscendError

from .message import Request, Response
from .router import Router
from .v2 import MODEL, as_json

_SHARED_MEMORY = "shared memory isn't supported; tensors travel in the request and its answer"
_SETTINGS = "settings of traces and logs are flags of the server, which requests don't change"


def add_to(router: Router) -> None:
    for kind in ("system", "cuda", "tpu"):
        base = f"/v2/{kind}sharedmemory"
        for path in (f"{base}/status", f"{base}/region/{{region}}/status"):
            router.add_simple("GET", path, _no_shared_memory)
        for path in (f"{base}/unregister", f"{base}/region/{{region}}/{{action}}"):
            router.add_simple("POST", path, _no_shared_memory)
    for path in ("/v2/trace/setting", f"{MODEL}/trace/setting", "/v2/logging"):
        router.add_simple("GET", path, _settings)
        router.add_simple("POST", path, _no_change)


def _no_shared_memory(request: Request, names: dict[str, str]) -> Response:
    raise AscendError("E50024", _SHARED_MEMORY)


def _settings(request: Request, names: dict[str, str]) -> Response:
    """Nothing can be set: an object of no settings."""
    return as_json({})


def _no_change(request: Request, names: dict[str, str]) -> Response:
    raise AscendError("E50024", _SETTINGS)
