"""Where batches run: on the event loop itself, or on instances, which are threads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

from .batch import Batch, Run

Done = Callable[[Batch], None]


class Workers(Protocol):
    """Used from the event loop alone. free: how many batches it can take. inline: `start` returns when the
    batch has run."""

    free: int
    inline: bool

    def start(self, batch: Batch) -> None:
        """Runs it, and calls the `done` it was made with on the event loop."""

    def close(self) -> None:
        """Called when nothing runs."""


class Inline:
    """Runs at once where it is called: for runs that are shorter than handing them to a thread."""

    inline = True

    def __init__(self, run: Run, done: Done) -> None:
        self._run = run
        self._done = done
        self.free = 1

    def start(self, batch: Batch) -> None:
        self.free = 0
        batch.execute(self._run)
        self.free = 1
        self._done(batch)

    def close(self) -> None:
        pass


class Instances:
    """So many threads, each running one batch at a time; native code runs outside the GIL."""

    inline = False

    def __init__(self, count: int, run: Run, done: Done, loop: asyncio.AbstractEventLoop) -> None:
        self.free = count
        self._run = run
        self._done = done
        self._loop = loop
        self._queue: SimpleQueue[Batch | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"ascend-instance-{i}", daemon=True)
            for i in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def start(self, batch: Batch) -> None:
        self.free -= 1
        self._queue.put(batch)

    def close(self) -> None:
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join(1.0)

    def _work(self) -> None:
        while (batch := self._queue.get()) is not None:
            batch.execute(self._run)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                self._loop.call_soon_threadsafe(self._finished, batch)
            del batch

    def _finished(self, batch: Batch) -> None:
        self.free += 1
        self._done(batch)
