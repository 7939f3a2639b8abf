"""The server: its parts, their start, and their end in the right order."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable

from .http.router import Router
from .http.server import HttpServer
from .http.v2 import V2
from .repository.repository import Repository
from .service import InferenceService
from .settings import Settings

log = logging.getLogger("ascend_ep.serving")


class Server:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.repository = Repository(settings)
        self.service = InferenceService(self.repository, settings.timeout)
        router = Router()
        V2(self.service, settings.limits).add_to(router)
        self.http = HttpServer(router, settings.limits)
        self.http_port = 0
        self._stop = asyncio.Event()

    async def start(self) -> None:
        """Loads the models, then listens. Raises AscendError as both do."""
        await self.repository.load_all()
        if self.settings.http_port is not None:
            self.http_port = await self.http.listen(self.settings.http_address, self.settings.http_port)
        log.info("%s", "; ".join(self.addresses) or "listening nowhere")

    @property
    def addresses(self) -> list[str]:
        """Where it listens, a line each."""
        return [f"HTTP on {self.settings.http_address}:{self.http_port}"] if self.http_port else []

    async def close(self) -> None:
        """Says that it isn't ready, serves on for the drain delay, takes no more connections, answers what
        was accepted; then ends schedulers and sessions."""
        self.service.leaving = True
        self.http.retire()
        await asyncio.sleep(self.settings.drain_delay)
        await self.http.close(self.settings.exit_timeout)
        self.service.draining = True
        await self.repository.close()

    async def run(self, started: Callable[[Server], None] | None = None) -> None:
        """Serves until SIGTERM or SIGINT; a second one ends the process at once. `started` is called once it
        listens."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled, number)
        await self.start()
        if started is not None:
            started(self)
        await self._stop.wait()
        log.info("ending")
        await self.close()
        log.info("ended")

    def _signalled(self, number: int) -> None:
        if self._stop.is_set():
            os._exit(128 + number)
        self._stop.set()
