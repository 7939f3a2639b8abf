"""The one message of a call, awaited for a limited time: a client that sends none would hold its place among
the calls for ever. And while there is memory for it (`room`)."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import grpc

from ascend_ep.errors import AscendError

from .room import Room

_SWEEPS = 4  # in the time that a message may take
#: Seconds between looks at the memory while streams are open.
_LOOK = 0.05


class Receiver:
    """seconds: what a message may take to arrive. open: the calls whose answer isn't sent whole."""

    def __init__(self, seconds: float, room: Room) -> None:
        self.open = 0
        self._room = room
        self._seconds = seconds
        #: calls that wait, oldest first, until when
        self._waiting: dict[asyncio.Task[Any], float] = {}
        #: those that were broken off, and why
        self._refused: dict[asyncio.Task[Any], AscendError] = {}
        #: tasks that read messages of a stream
        self._readers: set[asyncio.Task[Any]] = set()
        self._sweeping = False

    def opened(self, context: Any) -> None:
        """Counts a call until it is done."""
        self.open += 1
        context.add_done_callback(self._done)

    async def receive(self, context: Any) -> bytes:
        """The message of a handler that is declared to take a stream. Raises AscendError E50017 when it isn't
        complete in time, E50006 when others need its place, E50001 when there is none."""
        self.opened(context)
        task = asyncio.current_task()
        assert task is not None
        self._waiting[task] = time.monotonic() + self._seconds
        if not self._sweeping:
            self._sweeping = True
            self._sweep_later()

        def cut() -> None:
            self._break_off(task, AscendError("E50006", "other messages are"))

        try:
            await self._room.enter(cut)
            try:
                data = await context.read()
            finally:
                self._room.leave(cut)
        except asyncio.CancelledError:
            error = self._refused.pop(task, None)
            if error is None:
                raise
            task.uncancel()
            raise error from None
        finally:
            self._waiting.pop(task, None)
        if data is grpc.aio.EOF:
            raise AscendError("E50001", "the call has no message")
        made: bytes = data
        return made

    def reads(self, reader: asyncio.Task[Any]) -> None:
        """That this task waits for messages of a stream. It is cancelled when memory is short."""
        if not self._readers:
            asyncio.get_running_loop().call_later(_LOOK, self._look)
        self._readers.add(reader)

    def refusal(self, reader: asyncio.Task[Any]) -> AscendError | None:
        """Why that task was cancelled; None: not for want of memory."""
        self._readers.discard(reader)
        return self._refused.pop(reader, None)

    def _look(self) -> None:
        if self._readers and self._room.is_short():
            for reader in list(self._readers):
                self._break_off(reader, AscendError("E50006", "messages of other streams are"))
        if self._readers:
            asyncio.get_running_loop().call_later(_LOOK, self._look)

    def _break_off(self, task: asyncio.Task[Any], error: AscendError) -> None:
        self._waiting.pop(task, None)
        self._readers.discard(task)
        if not task.done():
            self._refused[task] = error
            task.cancel()

    def _done(self, context: Any) -> None:
        self.open -= 1

    def _sweep_later(self) -> None:
        asyncio.get_running_loop().call_later(self._seconds / _SWEEPS, self._sweep)

    def _sweep(self) -> None:
        now = time.monotonic()
        late = []
        for task, until in self._waiting.items():
            if until > now:
                break
            late.append(task)
        for task in late:
            self._break_off(task, AscendError("E50017"))
        self._sweeping = bool(self._waiting)
        if self._sweeping:
            self._sweep_later()
