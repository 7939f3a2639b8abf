"""TLS and bearer tokens of the gRPC port."""

from __future__ import annotations

from typing import Any

import grpc

from ascend_ep.errors import AscendError
from ascend_ep.serving.protocol.messages import HEALTH_SERVICE, INFERENCE_SERVICE
from ascend_ep.serving.security.tls import Tls
from ascend_ep.serving.security.tokens import Tokens

from .refused import code_of, text_of

#: Probes have no token.
OPEN = frozenset(
    {
        f"/{INFERENCE_SERVICE}/ServerLive",
        f"/{INFERENCE_SERVICE}/ServerReady",
        f"/{HEALTH_SERVICE}/Check",
        f"/{HEALTH_SERVICE}/Watch",
    }
)


class Guarded:
    """A generic handler whose methods, but OPEN ones, want a token in the metadata `authorization`."""

    def __init__(self, handler: Any, tokens: Tokens) -> None:
        self._handler = handler
        self._tokens = tokens

    def service_name(self) -> str:
        name: str = self._handler.service_name()
        return name

    def service(self, details: Any) -> Any:
        """The handler of a call; a refusal in its place when the call isn't authorised."""
        found = self._handler.service(details)
        if found is None or details.method in OPEN:
            return found
        given = next((value for key, value in details.invocation_metadata if key == "authorization"), "")
        if self._tokens.admit(given if isinstance(given, str) else ""):
            return found
        return _REFUSALS[found.response_streaming]


async def _refuse(sent: Any, context: Any) -> None:
    error = AscendError("E50011")
    await context.abort(code_of(error), text_of(error))


#: By whether the method answers by a stream; each takes one, as the server's handlers do.
_REFUSALS = {
    False: grpc.stream_unary_rpc_method_handler(_refuse),
    True: grpc.stream_stream_rpc_method_handler(_refuse),
}


def server_credentials(tls: Tls) -> Any:
    """grpc.ServerCredentials: each connection has the files as they were last read."""
    shown = tls.pem

    def newer() -> Any:
        nonlocal shown
        if tls.pem == shown:
            return None
        shown = tls.pem
        return _configuration(shown)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(shown), newer, require_client_authentication=shown[2] is not None
    )


def _configuration(pem: tuple[bytes, bytes, bytes | None]) -> Any:
    key, certificate, ca = pem
    return grpc.ssl_server_certificate_configuration([(key, certificate)], root_certificates=ca)
