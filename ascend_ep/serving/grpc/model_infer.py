"""ModelInfer and ModelStreamInfer."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from ascend_ep.errors import AscendError
from ascend_ep.serving.execution.job import Job
from ascend_ep.serving.parameters import PROFILE, wants_profile
from ascend_ep.serving.protocol.messages import ModelStreamInferResponse
from ascend_ep.serving.refusals import internal, status_of
from ascend_ep.serving.request import InferResponse
from ascend_ep.serving.service import InferenceService
from ascend_ep.serving.settings import Limits

from .codec import Parsed, decode, encode
from .receiving import Receiver
from .refused import refuse, text_of
from .room import Room
from .wire import read_request, stream_response

#: Requests of one stream that are run before the first of them is answered.
_WINDOW = 32
#: Seconds without a request after which none is on its way, and when that is taken to be so.
_SETTLED_AFTER, _SETTLED_AT_LATEST = 0.03, 0.5


class Inference:
    """Handlers on the bytes of messages. answered: how many requests, by the name of their status;
    received: their bytes."""

    def __init__(self, service: InferenceService, limits: Limits, receiver: Receiver, room: Room) -> None:
        self._service = service
        self._room = room
        self._limits = limits
        self._receiver = receiver
        self.answered: Counter[str] = Counter()
        self.received = 0
        self._held = 0
        self._gate: asyncio.Event | None = None
        self._readers: set[asyncio.Task[None]] = set()

    async def model_infer(self, _: Any, context: Any) -> bytes:
        call = None
        try:
            data = await self._receiver.receive(context)
            call = self._received(data)
            if self._gate is not None:
                await self._gate.wait()
            self._begin(call, data, _caller(context))
            answer = await call.answered
        except asyncio.CancelledError:
            self.answered["CANCELLED"] += 1
            raise
        except Exception as failure:
            # No name for it: this frame, which its trace holds with the request's bytes, would hold it.
            return self._refuse(context, internal(failure))
        finally:
            if call is not None:
                self._end(call)
        self.answered["OK"] += 1
        return answer

    def _refuse(self, context: Any, error: AscendError) -> bytes:
        self.answered[status_of(error).grpc] += 1
        return refuse(context, error)

    async def model_stream_infer(self, messages: AsyncIterator[bytes], context: Any) -> None:
        """Answers in the order of the requests; one that fails is an error_message and ends nothing."""
        if len(self._readers) >= self._limits.rpcs // 2:  # the other half is for requests that end
            refuse(context, AscendError("E50006", f"{len(self._readers)} streams"))
            return
        self._receiver.opened(context)
        waiting: deque[_Call] = deque()
        window = asyncio.Semaphore(_WINDOW)
        changed = asyncio.Event()
        caller = _caller(context)

        async def read() -> None:
            sender = caller
            async for data in messages:
                await window.acquire()
                waiting.append(self._begin_in_stream(data, sender))
                sender = caller._replace(profile="")  # of a stream, the first request is profiled
                changed.set()

        reader = asyncio.get_running_loop().create_task(read())
        self._readers.add(reader)
        self._receiver.reads(reader)
        reader.add_done_callback(lambda _: changed.set())
        try:
            while waiting or not reader.done():
                if not waiting:
                    changed.clear()
                    await changed.wait()
                    continue
                await context.write(await self._streamed(waiting[0]))
                self._end(waiting.popleft())
                window.release()
        finally:
            self._readers.discard(reader)
            short = self._receiver.refusal(reader)
            for call in waiting:
                self._end(call)
            reader.cancel()
        if reader.cancelled():
            refuse(context, short or AscendError("E50008"))

    async def settle(self) -> None:
        """From now on requests are taken and wait; returns when no more come, for a moment: clients wait for
        their answers, or have as many requests on a connection as they may."""
        self._gate = asyncio.Event()
        until = time.monotonic() + _SETTLED_AT_LATEST
        seen = -1
        while seen != self.received and time.monotonic() < until:
            seen = self.received
            await asyncio.sleep(_SETTLED_AFTER)

    def finish(self) -> None:
        """Answers what waits, reads no more requests of open streams, and answers those that were read."""
        if self._gate is not None:
            self._gate.set()
        for reader in self._readers:
            reader.cancel()

    def _received(self, data: bytes) -> _Call:
        self.received += len(data)
        self._held += len(data)
        return _Call(asyncio.get_running_loop().create_future(), len(data))

    def _end(self, call: _Call) -> None:
        self._held -= call.size
        if call.is_held:
            self._room.release(call.size)
        call.abandon()

    def _begin(self, call: _Call, data: bytes, caller: _Caller) -> None:
        """Raises AscendError for a request that is refused at once."""
        if self._held > self._limits.bodies:
            raise AscendError("E50006", f"{self._held} bytes of requests")
        self._room.hold(call.size)
        call.is_held = True
        message, raws = read_request(data, self._limits)
        call.id = message.id
        call.parsed = decode(message, raws, self._limits)
        request = call.parsed.request
        request.traceparent = caller.traceparent
        request.key = request.key or caller.key
        request.profile = wants_profile(caller.profile)
        deadline = caller.deadline
        if deadline is not None and (request.deadline is None or deadline < request.deadline):
            request.deadline = deadline
        call.job = self._service.submit(request, call.reply)

    async def _streamed(self, call: _Call) -> bytes:
        """The bytes of its ModelStreamInferResponse."""
        try:
            answer = stream_response(await call.answered)
        except AscendError as error:
            self.answered[status_of(error).grpc] += 1
            message = ModelStreamInferResponse(error_message=text_of(error))
            message.infer_response.id = call.id
            made: bytes = message.SerializeToString()
            return made
        self.answered["OK"] += 1
        return answer

    def _begin_in_stream(self, data: bytes, caller: _Caller) -> _Call:
        call = self._received(data)
        try:
            self._begin(call, data, caller)
        except Exception as failure:
            call.reply(internal(failure))
        return call


class _Caller(NamedTuple):
    """What a call says besides its message: its deadline on the clock of time.monotonic, and of its metadata
    the key of a split, the trace context and whether it is to be profiled."""

    deadline: float | None
    key: str
    traceparent: str
    profile: str


class _Call:
    """A request that was received. answered: the bytes of its ModelInferResponse, or an AscendError."""

    __slots__ = ("answered", "id", "is_held", "job", "parsed", "size")

    def __init__(self, answered: asyncio.Future[bytes], size: int) -> None:
        self.answered = answered
        self.size = size
        self.is_held = False
        self.id = ""
        self.parsed: Parsed | None = None
        self.job: Job | None = None

    def reply(self, result: InferResponse | AscendError) -> None:
        if self.answered.done():
            return
        if isinstance(result, AscendError):
            self.answered.set_exception(result)
            return
        assert self.parsed is not None
        try:
            self.answered.set_result(encode(result, self.parsed))
        except Exception as failure:
            self.answered.set_exception(internal(failure))

    def abandon(self) -> None:
        """Nobody waits for the answer any more."""
        if self.job is not None and not self.job.finished:
            self.job.cancel()
        if self.answered.done() and not self.answered.cancelled():
            self.answered.exception()  # which is thereby seen: asyncio would log it


def _caller(context: Any) -> _Caller:
    remaining = context.time_remaining()
    deadline = None if remaining is None else time.monotonic() + remaining
    key = traceparent = profile = ""
    for name, value in context.invocation_metadata() or ():
        if name == "traceparent":
            traceparent = str(value)
        elif name == "x-ascend-key":
            key = str(value)
        elif name == PROFILE:
            profile = str(value)
    return _Caller(deadline, key, traceparent, profile)
