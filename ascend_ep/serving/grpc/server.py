"""The gRPC server: which handler answers which method, and the limits of connections."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from ascend_ep.errors import AscendError
from ascend_ep.serving.protocol.messages import (
    HEALTH_SERVICE,
    INFERENCE_SERVICE,
    POOL,
    REFLECTION_SERVICE,
    message_class,
    parse,
)
from ascend_ep.serving.refusals import internal
from ascend_ep.serving.security.tls import Tls
from ascend_ep.serving.security.tokens import Tokens
from ascend_ep.serving.service import InferenceService
from ascend_ep.serving.settings import Limits, Settings

from .health import Health
from .model_infer import Inference
from .queries import UNSUPPORTED, Queries, Query, response
from .receiving import Receiver
from .reflection import Reflection
from .refused import refuse
from .room import Room
from .security import Guarded, server_credentials

#: Of methods with one message, declared to grpcio as those of a stream: so we receive the message, in a
#: limited time. Messages are bytes: what can't be parsed is refused by us, with a sentence.
Handler = Callable[[Any, Any], Awaitable[bytes]]

#: The older name of reflection, which many clients ask by; its messages are the same.
_REFLECTION_ALPHA = "grpc.reflection.v1alpha.ServerReflection"


#: For the transport's threads to tell clients of the end.
_GOAWAY_SECONDS = 0.02
#: For connections without a call to be closed by their clients.
_LINGER_SECONDS = 0.1


class GrpcServer:
    """All methods are called on the event loop. tls, tokens: None to let everybody in."""

    def __init__(
        self,
        service: InferenceService,
        settings: Settings,
        tls: Tls | None = None,
        tokens: Tokens | None = None,
    ) -> None:
        self._service = service
        self._limits = settings.limits
        self._control = settings.model_control_mode == "explicit"
        self._tls = tls
        self._tokens = tokens
        self._server: Any = None
        self._room = Room(settings.limits.body)
        self._receiver = Receiver(settings.limits.body_seconds, self._room)
        self._health = Health(service, self._receiver)
        self.inference = Inference(service, settings.limits, self._receiver, self._room)

    async def listen(self, address: str, port: int) -> int:
        """Begins to take connections and returns the port. Raises AscendError E50019 when it can't."""
        server = grpc.aio.server(
            options=_options(self._limits, self._room.largest), maximum_concurrent_rpcs=self._limits.rpcs
        )
        server.add_generic_rpc_handlers(self._handlers())
        where = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        try:
            if self._tls is None:
                found = server.add_insecure_port(where)
            else:
                found = server.add_secure_port(where, server_credentials(self._tls))
        except RuntimeError:
            found = 0
        if not found:
            raise AscendError("E50019", where, "it is in use, or no address of this machine")
        await server.start()
        self._server = server
        return int(found)

    async def close(self, grace: float) -> None:
        """Takes no more requests, and gives those that were accepted `grace` seconds to be answered."""
        if self._server is None:
            return
        self._health.close()
        # gRPC cancels requests that it has received and no handler has taken: before it stops there must be
        # none. What is taken is answered behind the news of the end (GOAWAY), so that clients send no more.
        await self.inference.settle()
        stopping = asyncio.ensure_future(self._server.stop(grace))
        await asyncio.sleep(_GOAWAY_SECONDS)
        self.inference.finish()
        until = time.monotonic() + grace
        while self._receiver.open and time.monotonic() < until:
            await asyncio.sleep(0.01)
        await self._server.stop(_LINGER_SECONDS)
        await stopping

    def _handlers(self) -> list[Any]:
        methods = {
            "ModelInfer": grpc.stream_unary_rpc_method_handler(self.inference.model_infer),
            "ModelStreamInfer": grpc.stream_stream_rpc_method_handler(self.inference.model_stream_infer),
        }
        for name, query in Queries(self._service, self._control).methods.items():
            answer = _answering(name, query, self._receiver)
            methods[name] = grpc.stream_unary_rpc_method_handler(answer)
        for name, why in UNSUPPORTED.items():
            methods[name] = grpc.stream_unary_rpc_method_handler(_refusing(why))
        health = {
            "Check": grpc.stream_unary_rpc_method_handler(self._health.check),
            "Watch": grpc.stream_stream_rpc_method_handler(self._health.watch),
        }
        reflection = Reflection([INFERENCE_SERVICE, HEALTH_SERVICE, REFLECTION_SERVICE])
        info = {"ServerReflectionInfo": grpc.stream_stream_rpc_method_handler(reflection.info)}
        served = {
            INFERENCE_SERVICE: methods,
            HEALTH_SERVICE: health,
            REFLECTION_SERVICE: info,
            _REFLECTION_ALPHA: info,
        }
        handlers = [grpc.method_handlers_generic_handler(name, table) for name, table in served.items()]
        return handlers if self._tokens is None else [Guarded(handler, self._tokens) for handler in handlers]


def _answering(name: str, query: Query, receiver: Receiver) -> Handler:
    method = POOL.FindServiceByName(INFERENCE_SERVICE).methods_by_name[name]
    request_class = message_class(method.input_type.full_name)

    async def answer(_: Any, context: Any) -> bytes:
        try:
            shown = query(parse(request_class, await receiver.receive(context)))
            return response(name, await shown if inspect.isawaitable(shown) else shown)
        except Exception as failure:
            return refuse(context, internal(failure))

    return answer


def _refusing(why: str) -> Handler:
    async def answer(_: Any, context: Any) -> bytes:
        return refuse(context, AscendError("E50024", why))

    return answer


def _options(limits: Limits, largest: int) -> list[tuple[str, int]]:
    seconds = 1000
    return [
        ("grpc.so_reuseport", 0),  # a second server on the port fails instead of taking half of the requests
        ("grpc.max_receive_message_length", largest),
        ("grpc.max_send_message_length", -1),
        # of a message nothing more than this is taken before we ask for it, and then all of it
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", 1 << 16),
        ("grpc.max_metadata_size", limits.header),
        ("grpc.absolute_max_metadata_size", limits.header),
        ("grpc.max_allowed_incoming_connections", limits.connections),
        ("grpc.max_concurrent_streams", limits.rpcs_of_connection),
        # clients may ping every 10 s, without a request too; who pings faster is closed after two strikes
        ("grpc.http2.min_ping_interval_without_data_ms", 10 * seconds),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 10 * seconds),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_ping_strikes", 2),
        # a client that vanished is found out
        ("grpc.keepalive_time_ms", 60 * seconds),
        ("grpc.keepalive_timeout_ms", 20 * seconds),
        ("grpc.max_connection_idle_ms", 600 * seconds),
        ("grpc.server_handshake_timeout_ms", round(limits.header_seconds * seconds)),
    ]
