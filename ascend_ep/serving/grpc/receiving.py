"""The one message of a call, awaited for a limited time: a client that sends none would hold its place among
the calls for ever."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import grpc

from ascend_ep.errors import AscendError

_SWEEPS = 4  # in the time that a message may take


class Receiver:
    """seconds: what a message may take to arrive. open: the calls whose answer isn't sent whole."""

    def __init__(self, seconds: float) -> None:
        self.open = 0
        self._seconds = seconds
        #: calls that wait, oldest first, until when
        self._waiting: dict[asyncio.Task[Any], float] = {}
        self._expired: set[asyncio.Task[Any]] = set()
        self._sweeping = False

    def opened(self, context: Any) -> None:
        """Counts a call until it is done."""
        self.open += 1
        context.add_done_callback(self._done)

    async def receive(self, context: Any) -> bytes:
        """The message of a handler that is declared to take a stream. Raises AscendError E50017 when it isn't
        complete in time, E50001 when there is none."""
        self.opened(context)
        task = asyncio.current_task()
        assert task is not None
        self._waiting[task] = time.monotonic() + self._seconds
        if not self._sweeping:
            self._sweeping = True
            self._sweep_later()
        try:
            data = await context.read()
        except asyncio.CancelledError:
            if task not in self._expired:
                raise
            self._expired.discard(task)
            task.uncancel()
            raise AscendError("E50017") from None
        finally:
            self._waiting.pop(task, None)
        if data is grpc.aio.EOF:
            raise AscendError("E50001", "the call has no message")
        made: bytes = data
        return made

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
            del self._waiting[task]
            self._expired.add(task)
            task.cancel()
        self._sweeping = bool(self._waiting)
        if self._sweeping:
            self._sweep_later()
