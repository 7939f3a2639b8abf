"""The server: its parts, their start, and their end in the right order."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    from .tracing.spans import Spans

from .grpc.server import GrpcServer
from .http import absent, openapi, operations, page
from .http.admin import Admin
from .http.control import Control
from .http.message import Handler
from .http.router import Router
from .http.server import HttpServer
from .http.v2 import V2
from .logs.requests import RequestLog
from .metrics.collector import ServerCollector
from .metrics.endpoint import MetricsEndpoint
from .page.recent import RecentErrors
from .page.state import StateOfPage
from .profiles import Export, Profiles
from .repository.repository import Repository
from .security.exposure import is_local
from .security.tls import Tls
from .security.tokens import Tokens
from .service import InferenceService
from .settings import Settings

log = logging.getLogger("ascend_ep.serving")

#: For what comes after the last answer: sessions, the last spans.
_CLOSING_SECONDS = 5.0
#: Signals within this time are one order: `timeout` and a terminal signal a process and its group.
_ONE_ORDER_SECONDS = 0.2


class Server:
    """TLS and tokens hold for every port; the port of metrics has no other protection. export_profile: what
    completes the profile of a request. Raises AscendError E50034 for files of TLS and tokens that aren't what
    they should be, and for a folder of profiles that can't be written."""

    def __init__(self, settings: Settings, export_profile: Export | None = None) -> None:
        self.settings = settings
        self.tls = _tls(settings)
        self.tokens = Tokens(settings.auth_tokens) if settings.auth_tokens is not None else None
        self.repository = Repository(settings)
        self.profiles = Profiles(settings.profile_dir, export_profile)
        self.profiles.prepare()
        self.service = InferenceService(self.repository, settings.timeout, self.profiles)
        self.errors = RecentErrors()
        self.service.failure_observers.append(self.errors.observe)
        self.request_log = RequestLog(wanted=settings.log_requests)
        self.v2 = V2(self.service, settings.limits)
        self.http = HttpServer(self._protocol(), settings.limits, self._note, self.tokens)
        self.http_port = 0
        self.grpc = GrpcServer(self.service, settings, self.tls, self.tokens)
        self.grpc_port = 0
        self.metrics = HttpServer(self._metrics(), settings.limits, tokens=self.tokens)
        self.metrics_port = 0
        self.admin = HttpServer(self._operators(), settings.limits)
        self.spans = _spans(settings)
        self._observe()
        self._stop = asyncio.Event()
        self._told = 0.0

    async def start(self) -> None:
        """Listens, then loads the models: until they are it is live and not ready, and answers for those that
        are. Raises AscendError as both do, with everything closed again."""
        try:
            await self._start()
        except BaseException as failure:
            servers = (self.http, self.grpc, self.metrics, self.admin)
            await asyncio.gather(*(server.close(0) for server in servers))
            await self.repository.close()
            if isinstance(failure, OSError):
                reason = f"the server can't start: {failure.strerror or failure}"
                raise AscendError("E40002", reason, fix="Check the limits of the system.") from failure
            raise

    async def _start(self) -> None:
        settings = self.settings
        context = None if self.tls is None else self.tls.context
        if settings.metrics_port is not None:
            self.metrics_port = await self.metrics.listen(
                settings.metrics_address, settings.metrics_port, context
            )
        if settings.admin_socket is not None:
            await self.admin.listen_unix(settings.admin_socket)
        if settings.http_port is not None:
            self.http_port = await self.http.listen(settings.http_address, settings.http_port, context)
        if settings.grpc_port is not None:
            self.grpc_port = await self.grpc.listen(settings.grpc_address, settings.grpc_port)
        log.info("%s", "; ".join(self.addresses) or "listening nowhere")
        self._warn_of_exposure()
        await self.repository.load_all()

    @property
    def addresses(self) -> list[str]:
        """Where it listens, a line each."""
        settings = self.settings
        ports = (
            ("HTTP", settings.http_address, self.http_port),
            ("gRPC", settings.grpc_address, self.grpc_port),
            ("metrics", settings.metrics_address, self.metrics_port),
        )
        return [f"{name} on {address}:{port}" for name, address, port in ports if port]

    async def close(self) -> None:
        """Says that it isn't ready, serves on for the drain delay, takes no more connections, answers what
        was accepted; then ends schedulers and sessions. What operators look at ends last.

        A gRPC request that arrives when its connection has just been told to go away is refused by grpc
        itself, as CANCELLED (grpc/grpc#41785); a load balancer that acts on not being ready avoids it.
        """
        self.drain(True)
        await asyncio.sleep(self.settings.drain_delay)
        grace = self.settings.exit_timeout
        await asyncio.gather(self.http.close(grace), self.grpc.close(grace))
        self.service.draining = True
        self.v2.close()
        await self.repository.close()
        self.service.traffic.close()
        await asyncio.gather(self.metrics.close(0), self.admin.close(0))
        if self.spans is not None:
            await asyncio.to_thread(self.spans.close)

    def drain(self, begin: bool) -> None:
        """Says that it isn't ready, and makes every answer its connection's last; False takes that back."""
        self.service.leaving = begin
        self.http.retire(begin)

    async def run(self, started: Callable[[Server], None] | None = None) -> None:
        """Serves until SIGTERM or SIGINT; a second one ends the process at once. SIGHUP reads certificates
        and tokens again. `started` is called once it listens and the models are loaded."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled, number)
        loop.add_signal_handler(signal.SIGHUP, self.reload_security)
        if await self._started():
            if started is not None:
                started(self)
            await self._stop.wait()
        log.info("ending")
        most = self.settings.drain_delay + self.settings.exit_timeout + _CLOSING_SECONDS
        try:
            await asyncio.wait_for(self.close(), most)
        except TimeoutError:
            log.error("a run outlasts --exit-timeout-secs: ended without its answer")
            logging.shutdown()
            os._exit(1)  # nothing else ends a native run
        log.info("ended: %d requests answered", self.service.answered)

    async def _started(self) -> bool:
        """Starts; False when the server is told to end meanwhile: what is being loaded is given up."""
        starting = asyncio.create_task(self.start())
        told = asyncio.create_task(self._stop.wait())
        await asyncio.wait((starting, told), return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if not starting.done():
            starting.cancel()
        await asyncio.wait((starting, told))
        return not starting.cancelled() and starting.result() is None

    def reload_security(self) -> None:
        """Certificates and tokens from their files again; those that can't be used leave the old in force."""
        for part in (self.tls, self.tokens):
            if part is not None:
                try:
                    part.reload()
                except AscendError as error:
                    log.error("%s", error)
                else:
                    log.info("%s read again", type(part).__name__)

    def _signalled(self, number: int) -> None:
        now = time.monotonic()
        if not self._stop.is_set():
            self._told = now
            self._stop.set()
        elif now - self._told > _ONE_ORDER_SECONDS:
            os._exit(128 + number)

    def _protocol(self) -> Handler:
        router = Router()
        self.v2.add_to(router)
        Control(self.repository, self.settings.model_control_mode == "explicit").add_to(router)
        absent.add_to(router)
        openapi.add_to(router, operations.PUBLIC)
        page.add_to(router, StateOfPage(self.service, self.errors))
        return router

    def _metrics(self) -> Handler:
        router = Router()
        MetricsEndpoint(ServerCollector(self.service, self.http, self.grpc)).add_to(router)
        return router

    def _operators(self) -> Handler:
        """The protocol and more; no token is asked for where only the owner comes."""
        router = Router()
        self.v2.add_to(router)
        Control(self.repository, True).add_to(router)
        Admin(self.service, self.drain).add_to(router)
        openapi.add_to(router, operations.OPERATORS)
        return router

    def _observe(self) -> None:
        if self.spans is not None:
            self.service.observers.append(self.spans)
        service = self.service
        (service.observers if self.settings.log_requests else service.failure_observers).append(
            self.request_log
        )

    def _note(self, error: AscendError, where: str) -> None:
        """HTTP refused a request."""
        self.request_log.note(error)
        self.errors.note(error, where)

    def _warn_of_exposure(self) -> None:
        settings = self.settings
        ports = (
            (settings.http_address, self.http_port),
            (settings.grpc_address, self.grpc_port),
            (settings.metrics_address, self.metrics_port),
        )
        far = sorted({address for address, port in ports if port and not is_local(address)})
        if far and self.tls is None:
            log.warning("%s: whoever reaches it reads along (--ssl-certificate-file)", ", ".join(far))
        if far and self.tokens is None and (self.tls is None or settings.ssl_client_ca is None):
            log.warning("%s: whoever reaches it may use it (--auth-token-file)", ", ".join(far))


def _tls(settings: Settings) -> Tls | None:
    if settings.ssl_certificate is None:
        return None
    return Tls(
        settings.ssl_certificate, settings.ssl_private_key or settings.ssl_certificate, settings.ssl_client_ca
    )


def _spans(settings: Settings) -> Spans | None:
    if not settings.otel_endpoint:
        return None
    try:
        from .tracing.spans import Spans, otlp_exporter

        return Spans(otlp_exporter(settings.otel_endpoint), settings.otel_sample)
    except ModuleNotFoundError as missing:
        raise AscendError("E50022", missing.name, fix='pip install "ascend-ep[otel]"') from None
