"""The infer routes: from a request to its answer, at once or, for what takes long to read or write, on a
thread beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import internal
from ascend_ep.serving.request import InferResponse
from ascend_ep.serving.service import InferenceService
from ascend_ep.serving.settings import Limits

from . import compression
from .infer_answer import answer, json_elements
from .infer_body import Parsed, json_size, parse
from .message import Request, Response, Send
from .refused import refused

T = TypeVar("T")

#: JSON beyond this takes milliseconds to read, and so many elements milliseconds to write.
_LONG_JSON = 256 << 10
_MANY_ELEMENTS = 1 << 16
#: A compressed body may inflate to a thousand times its size.
_SMALL_COMPRESSED = 4 << 10


class Infer:
    """The handler of `POST .../infer`."""

    def __init__(self, service: InferenceService, limits: Limits) -> None:
        self._service = service
        self._limits = limits
        self._codec = ThreadPoolExecutor(2, "ascend-codec")

    def __call__(self, request: Request, names: dict[str, str], send: Send) -> None:
        encoding = request.headers.get("content-encoding", "")
        size = len(request.body)
        model, version = names["model"], names.get("version", "")
        if not encoding and (size < _LONG_JSON or json_size(request, size) < _LONG_JSON):
            self._submit(request, parse(request, request.body, model, version, self._limits), send)
            return

        def read() -> tuple[int, Parsed]:
            body = request.body
            if encoding and encoding.lower() != "identity":
                body = compression.inflated(body, encoding.lower(), self._limits.body)
            return len(body), parse(request, body, model, version, self._limits)

        def submit(made: tuple[int, Parsed]) -> None:
            inflated, parsed = made
            request.hold(inflated - size)
            self._submit(request, parsed, send)

        if size < _SMALL_COMPRESSED:
            submit(read())
        else:
            self._beside(read, submit, send)

    def _submit(self, request: Request, parsed: Parsed, send: Send) -> None:
        encoding = compression.wanted(request.headers.get("accept-encoding"))

        def reply(result: InferResponse | AscendError) -> None:
            request.on_gone = None
            try:
                if isinstance(result, AscendError):
                    send(refused(result))
                elif not encoding and json_elements(result, parsed) < _MANY_ELEMENTS:
                    send(answer(result, parsed))
                else:
                    self._write(result, parsed, encoding, send)
            except Exception as failure:
                send(refused(internal(failure)))

        job = self._service.submit(parsed.request, reply)
        if job is not None and not job.finished:
            request.on_gone = job.cancel

    def _write(self, result: InferResponse, parsed: Parsed, encoding: str, send: Send) -> None:
        def write() -> Response:
            return compression.deflated(answer(result, parsed), encoding)

        if sum(array.nbytes for _, _, array in result.outputs) < compression.LARGE:
            send(write())
        else:
            self._beside(write, send, send)

    def _beside(self, work: Callable[[], T], then: Callable[[T], None], send: Send) -> None:
        """`then` gets, on the event loop, what `work` made on a thread; a failure of either is sent."""
        loop = asyncio.get_running_loop()

        def on_thread() -> None:
            try:
                made = work()
            except Exception as failure:
                loop.call_soon_threadsafe(send, refused(internal(failure)))
            else:
                loop.call_soon_threadsafe(on_loop, made)

        def on_loop(made: T) -> None:
            try:
                then(made)
            except Exception as failure:
                send(refused(internal(failure)))

        self._codec.submit(on_thread)

    def close(self) -> None:
        self._codec.shutdown(wait=False)
