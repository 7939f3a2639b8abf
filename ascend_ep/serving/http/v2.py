"""The routes of the Open Inference Protocol v2 and of the extensions that models answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ascend_ep.errors import AscendError
from ascend_ep.serving import descriptions
from ascend_ep.serving.repository.version import LoadedVersion
from ascend_ep.serving.service import InferenceService
from ascend_ep.serving.settings import Limits

from .infer import Infer
from .message import Request, Response
from .router import Router

MODEL = "/v2/models/{model}"
VERSION = "/v2/models/{model}/versions/{version}"


class V2:
    def __init__(self, service: InferenceService, limits: Limits) -> None:
        self._service = service
        self._infer = Infer(service, limits)

    def add_to(self, router: Router) -> None:
        router.add_simple("GET", "/v2", self.server_metadata)
        router.add_simple("GET", "/v2/health/live", self.live)
        router.add_simple("GET", "/v2/health/ready", self.ready)
        router.add_simple("GET", "/v2/models/stats", self.all_statistics)
        for model in (MODEL, VERSION):
            router.add_simple("GET", model, self.model_metadata)
            router.add_simple("GET", f"{model}/ready", self.model_ready)
            router.add_simple("GET", f"{model}/config", self.model_config)
            router.add_simple("GET", f"{model}/stats", self.statistics)
            router.add("POST", f"{model}/infer", self._infer)

    def close(self) -> None:
        self._infer.close()

    def server_metadata(self, request: Request, names: dict[str, str]) -> Response:
        return as_json(descriptions.server_metadata())

    def live(self, request: Request, names: dict[str, str]) -> Response:
        return as_json({"live": True})

    def ready(self, request: Request, names: dict[str, str]) -> Response:
        if self._service.leaving:
            raise AscendError("E50008")
        if not self._service.repository.ready:
            raise AscendError("E50025")
        return as_json({"ready": True})

    def model_metadata(self, request: Request, names: dict[str, str]) -> Response:
        version = self._version(names)
        return as_json(descriptions.model_metadata(self._service.repository.model(names["model"]), version))

    def model_ready(self, request: Request, names: dict[str, str]) -> Response:
        return as_json({"name": self._version(names).model, "ready": True})

    def model_config(self, request: Request, names: dict[str, str]) -> Response:
        return as_json(descriptions.model_config(self._version(names)))

    def statistics(self, request: Request, names: dict[str, str]) -> Response:
        if "version" in names:
            return as_json(descriptions.model_statistics([self._version(names)]))
        model = self._service.repository.model(names["model"])
        return as_json(descriptions.model_statistics(model.versions.values()))

    def all_statistics(self, request: Request, names: dict[str, str]) -> Response:
        return as_json(descriptions.model_statistics(self._all()))

    def _all(self) -> Iterable[LoadedVersion]:
        for model in self._service.repository.models.values():
            yield from model.versions.values()

    def _version(self, names: dict[str, str]) -> LoadedVersion:
        return self._service.repository.version(names["model"], names.get("version", ""))


def as_json(value: Any) -> Response:
    return Response(200, (), (msgspec.json.encode(value),))
