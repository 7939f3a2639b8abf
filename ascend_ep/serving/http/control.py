"""The routes of the repository extension: what is there, load, unload."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from ascend_ep.errors import AscendError
from ascend_ep.serving.repository.index import IndexEntry
from ascend_ep.serving.repository.repository import Repository
from ascend_ep.serving.request import Parameter

from .json_body import JsonBody, json_body
from .message import Request, Response
from .router import Router
from .v2 import as_json


class IndexBody(JsonBody):
    example: ClassVar[dict[str, Any]] = {"ready": True}

    ready: bool = False


class LoadBody(JsonBody):
    example: ClassVar[dict[str, Any]] = {"parameters": {}}

    parameters: dict[str, Parameter] = {}


class UnloadParameters(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    unload_dependents: bool = False


class UnloadBody(JsonBody):
    example: ClassVar[dict[str, Any]] = {"parameters": {"unload_dependents": False}}

    parameters: UnloadParameters = UnloadParameters()


class Control:
    """allowed: whether models may be loaded and unloaded here; the index is for everyone."""

    def __init__(self, repository: Repository, allowed: bool) -> None:
        self._repository = repository
        self._allowed = allowed

    def add_to(self, router: Router) -> None:
        router.add_simple("POST", "/v2/repository/index", self.index)
        router.add_slow("POST", "/v2/repository/models/{model}/load", self.load)
        router.add_slow("POST", "/v2/repository/models/{model}/unload", self.unload)

    def index(self, request: Request, names: dict[str, str]) -> Response:
        entries = self._repository.index(json_body(request, IndexBody).ready)
        return as_json([_shown(entry) for entry in entries])

    async def load(self, request: Request, names: dict[str, str]) -> Response:
        self._check(request)
        await self._repository.load_model(names["model"], json_body(request, LoadBody).parameters)
        return Response()

    async def unload(self, request: Request, names: dict[str, str]) -> Response:
        self._check(request)
        dependents = json_body(request, UnloadBody).parameters.unload_dependents
        await self._repository.unload_model(names["model"], dependents)
        return Response()

    def _check(self, request: Request) -> None:
        if not self._allowed:
            raise AscendError("E50013", "models are loaded as the server decides (--model-control-mode)")
        # A page of another site, open in a browser on this machine, may not do that.
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise AscendError("E50013", "a request from another site's page")


def _shown(entry: IndexEntry) -> dict[str, str]:
    return {"name": entry.name, "version": entry.version, "state": entry.state, "reason": entry.reason}
