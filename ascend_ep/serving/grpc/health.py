"""grpc.health.v1: the state of the server (the service "", or the inference service), of a model by its name,
of a version by `model/version`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.serving.protocol.messages import HEALTH_SERVICE, INFERENCE_SERVICE, message_class, parse
from ascend_ep.serving.service import InferenceService

from .receiving import Receiver
from .refused import refuse

_Request = message_class("grpc.health.v1.HealthCheckRequest")
_Response = message_class("grpc.health.v1.HealthCheckResponse")
_POLL_SECONDS = 0.2


class Health:
    def __init__(self, service: InferenceService, receiver: Receiver) -> None:
        self._service = service
        self._receiver = receiver
        self._ending = asyncio.Event()

    async def check(self, _: Any, context: Any) -> bytes:
        try:
            name = parse(_Request, await self._receiver.receive(context)).service
        except AscendError as error:
            return refuse(context, error)
        state = self._state(name)
        if state == _Response.SERVICE_UNKNOWN:
            return refuse(context, AscendError("E50002", name, ""))
        return _answer(state)

    async def watch(self, _: Any, context: Any) -> None:
        """Writes the state and its changes until the client goes or the server does."""
        try:
            name = parse(_Request, await self._receiver.receive(context)).service
        except AscendError as error:
            refuse(context, error)
            return
        shown = None
        while True:
            state = self._state(name)
            if state != shown:
                await context.write(_answer(state))
                shown = state
            if self._ending.is_set():
                refuse(context, AscendError("E50008"))
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._ending.wait()

    def close(self) -> None:
        """The server is about to end: watchers are told, and left."""
        self._ending.set()

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
