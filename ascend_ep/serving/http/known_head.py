"""Heads that are known again as bytes: a client sends the same one again and again."""

from __future__ import annotations

from typing import NamedTuple

from .message import Request

#: Heads up to this size are known again, unless they have a header that asks for more than a body.
_LARGEST = 2048
_MORE_THAN_A_HEAD = {"transfer-encoding", "expect", "upgrade"}


class KnownHead(NamedTuple):
    """As bytes and as it was parsed, with the length of the body behind it."""

    head: bytes
    method: str
    path: str
    query: str
    headers: dict[str, str]
    length: int


def known_head(request: Request, data: memoryview) -> KnownHead | None:
    """Of a request which is all of `data`; None when the same bytes may mean something else next time."""
    headers, length = request.headers, len(request.body)
    size = len(data) - length
    if size > _LARGEST or not request.keep_alive:
        return None
    head = bytes(data[:size])
    if head.find(b"\r\n\r\n") != size - 4:
        return None  # empty lines around the request, which the parser passes over
    if headers.get("content-length", "0") != str(length) or headers.keys() & _MORE_THAN_A_HEAD:
        return None
    return KnownHead(head, request.method, request.path, request.query, headers, length)
