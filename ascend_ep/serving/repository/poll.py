"""Mode poll: the folder of models is looked at again and again, and what changed is followed once it stays as
it is from one look to the next, so that nothing is loaded while it is being copied."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from ascend_ep.errors import AscendError

from .layout import Layout
from .stamp import ModelStamp, stamp_model

log = logging.getLogger("ascend_ep.serving")

Follow = Callable[[str, ModelStamp], Awaitable[object]]
Forget = Callable[[str], Awaitable[object]]


class Poller:
    """follow: brings a model to a stamp. forget: its folder is gone."""

    def __init__(self, places: Layout, follow: Follow, forget: Forget) -> None:
        self._places = places
        self._follow = follow
        self._forget = forget
        #: what models were brought to
        self._settled: dict[str, ModelStamp] = {}
        #: what differed at the last look; None: gone
        self._seen: dict[str, ModelStamp | None] = {}
        self.busy: dict[str, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def note(self, name: str, stamp: ModelStamp) -> None:
        """The model was brought to this stamp."""
        self._settled[name] = stamp

    def start(self, seconds: float) -> None:
        """Looks every so many seconds from now on."""
        self._task = asyncio.get_running_loop().create_task(self._forever(seconds))

    async def close(self) -> None:
        """Looks no more, and gives up what it is doing."""
        tasks = [t for t in (self._task, *self.busy.values()) if t is not None]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def look(self) -> None:
        """One look: acts on what differs from what was followed and is as it was at the last look."""
        there = await asyncio.get_running_loop().run_in_executor(None, self._scan)
        for name in {*there, *self._settled} - self.busy.keys():
            stamp = there.get(name)
            if stamp == self._settled.get(name):
                self._seen.pop(name, None)
            elif name in self._seen and self._seen[name] == stamp:
                del self._seen[name]
                self._act(name, stamp)
            else:
                self._seen[name] = stamp

    async def _forever(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.look()
            except AscendError as error:
                log.error("the repository can't be looked at: %s", error)

    def _scan(self) -> dict[str, ModelStamp]:
        """The stamps of the models there are; a model that can't be looked at is as it was."""
        found = {}
        for name in self._places.names():
            if name in self._settled or self._places.is_model(name):
                try:
                    found[name] = stamp_model(self._places, name)
                except AscendError as error:
                    log.error("model %s: %s", name, error)
                    if name in self._settled:
                        found[name] = self._settled[name]
        return found

    def _act(self, name: str, stamp: ModelStamp | None) -> None:
        task = asyncio.get_running_loop().create_task(self._bring(name, stamp))
        self.busy[name] = task
        task.add_done_callback(lambda _: self.busy.pop(name, None))

    async def _bring(self, name: str, stamp: ModelStamp | None) -> None:
        if stamp is None:
            self._settled.pop(name, None)
            await self._forget(name)
        else:
            await self._follow(name, stamp)
