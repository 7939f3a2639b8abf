"""Only requests with a token reach the handler. Health endpoints are open, for probes have none, and so are
the page's files: the page asks for a token."""

from __future__ import annotations

from ascend_ep.serving.security.tokens import Tokens

from . import page
from .message import Handler, Request, Send

OPEN = page.OPEN | {"/v2/health/live", "/v2/health/ready"}


class Authorised:
    def __init__(self, handler: Handler, tokens: Tokens) -> None:
        self._handler = handler
        self._tokens = tokens

    def __call__(self, request: Request, send: Send) -> None:
        if request.path not in OPEN:
            self._tokens.require(request.headers.get("authorization", ""))
        self._handler(request, send)
