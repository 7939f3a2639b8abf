"""grpc.health.v1: the state of the server (the service "", or the inference service), of a model by its name,
of a version by `model/version`."""

from __future__ import annotations

import asyncio
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.serving.protocol.messages import HEALTH_SERVICE, INFERENCE_SERVICE, message_class, parse
from ascend_ep.serving.service import InferenceService

from .refused import refuse

_Request = message_class("grpc.health.v1.HealthCheckRequest")
_Response = message_class("grpc.health.v1.HealthCheckResponse")
_POLL_SECONDS = 0.2


class Health:
    def __init__(self, service: InferenceService) -> None:
        self._service = service
        self.closing = False

    async def check(self, data: bytes, context: Any) -> bytes:
        try:
            name = parse(_Request, data).service
        except AscendError as error:
            return refuse(context, error)
        state = self._state(name)
        if state == _Response.SERVICE_UNKNOWN:
            return refuse(context, AscendError("E50002", name, ""))
        return _answer(state)

    async def watch(self, data: bytes, context: Any) -> None:
        """Writes the state and its changes until the client goes or the server does."""
        try:
            name = parse(_Request, data).service
        except AscendError as error:
            refuse(context, error)
            return
        shown = None
        while True:
            state = self._state(name)
            if state != shown:
                await context.write(_answer(state))
                shown = state
            if self.closing:
                refuse(context, AscendError("E50008"))
                return
            await asyncio.sleep(_POLL_SECONDS)

    def _state(self, name: str) -> Any:
        if name in ("", INFERENCE_SERVICE, HEALTH_SERVICE):
            return _Response.SERVING if self._service.ready else _Response.NOT_SERVING
        model, _, version = name.partition("/")
        try:
            self._service.repository.version(model, version)
        except AscendError as error:
            return _Response.SERVICE_UNKNOWN if error.code == "E50002" else _Response.NOT_SERVING
        return _Response.NOT_SERVING if self._service.leaving else _Response.SERVING


def _answer(state: Any) -> bytes:
    made: bytes = _Response(status=state).SerializeToString()
    return made
