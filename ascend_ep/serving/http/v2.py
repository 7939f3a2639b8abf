"""The routes of the Open Inference Protocol v2."""

from __future__ import annotations

from importlib.metadata import version as installed_version
from typing import Any

import msgspec

from ascend_ep.errors import AscendError
from ascend_ep.serving.repository.version import LoadedVersion
from ascend_ep.serving.request import InferResponse
from ascend_ep.serving.service import InferenceService
from ascend_ep.serving.settings import Limits
from ascend_ep.serving.signature import TensorSpec

from .binary import answer, parse
from .message import Request, Response, Send
from .refused import refused
from .router import Router

EXTENSIONS = ("binary_tensor_data",)


class V2:
    def __init__(self, service: InferenceService, limits: Limits) -> None:
        self._service = service
        self._limits = limits

    def add_to(self, router: Router) -> None:
        router.add_simple("GET", "/v2", self.server_metadata)
        router.add_simple("GET", "/v2/health/live", self.live)
        router.add_simple("GET", "/v2/health/ready", self.ready)
        for model in ("/v2/models/{model}", "/v2/models/{model}/versions/{version}"):
            router.add_simple("GET", model, self.model_metadata)
            router.add_simple("GET", f"{model}/ready", self.model_ready)
            router.add("POST", f"{model}/infer", self.infer)

    def server_metadata(self, request: Request, names: dict[str, str]) -> Response:
        return _json(
            {"name": "ascend-serve", "version": installed_version("ascend-ep"), "extensions": EXTENSIONS}
        )

    def live(self, request: Request, names: dict[str, str]) -> Response:
        return _json({"live": True})

    def ready(self, request: Request, names: dict[str, str]) -> Response:
        if self._service.leaving:
            raise AscendError("E50008")
        return _json({"ready": True})

    def model_metadata(self, request: Request, names: dict[str, str]) -> Response:
        version = self._version(names)
        model = self._service.repository.model(names["model"])
        return _json(
            {
                "name": model.name,
                "versions": [str(n) for n in sorted(model.versions)],
                "platform": "ascend_om",
                "inputs": [_tensor(spec) for spec in version.signature.inputs],
                "outputs": [_tensor(spec) for spec in version.signature.outputs],
            }
        )

    def model_ready(self, request: Request, names: dict[str, str]) -> Response:
        return _json({"name": self._version(names).model, "ready": True})

    def infer(self, request: Request, names: dict[str, str], send: Send) -> None:
        parsed = parse(request, names["model"], names.get("version", ""), self._limits)

        def reply(result: InferResponse | AscendError) -> None:
            request.on_gone = None
            try:
                send(refused(result) if isinstance(result, AscendError) else answer(result, parsed))
            except AscendError as error:
                send(refused(error))

        job = self._service.submit(parsed.request, reply)
        if job is not None and not job.finished:
            request.on_gone = job.cancel

    def _version(self, names: dict[str, str]) -> LoadedVersion:
        return self._service.repository.version(names["model"], names.get("version", ""))


def _tensor(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "datatype": spec.datatype, "shape": spec.shape}


def _json(value: Any) -> Response:
    return Response(200, (), (msgspec.json.encode(value),))
