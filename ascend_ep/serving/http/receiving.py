"""From the bytes of a connection to requests.

httptools parses heads and small bodies. A large body of known length is received straight into the memory
it stays in, so that its tensors are views of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlsplit

import httptools
import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import internal
from ascend_ep.serving.security.tokens import Tokens
from ascend_ep.serving.settings import Limits

from .budget import Budget
from .known_head import KnownHead, known_head
from .message import Body, Request

SCRATCH = 64 << 10
#: Bodies from this size on are received into their place.
_DIRECT = 16 << 10
#: Tensors behind the JSON of a binary request begin at a multiple of this.
_ALIGNMENT = 64
#: Bytes a second below which a body is too slow, once its first seconds are over.
_SLOWEST = 64 << 10
_SINGLE = ("content-length", "host", "inference-header-content-length", "content-encoding", "authorization")


class Receiver:
    """Calls `complete` with each request and `interim` with what has to be written at once. `deadline`, on
    the clock of time.monotonic: when what has begun has to be there. tokens: without one of them no body is
    received; requests without a body are `complete`'s to judge."""

    def __init__(
        self,
        limits: Limits,
        scratch: memoryview,
        budget: Budget,
        complete: Callable[[Request], None],
        interim: Callable[[bytes], None],
        tokens: Tokens | None = None,
    ) -> None:
        self._limits = limits
        self._tokens = tokens
        self._scratch = scratch
        self._budget = budget
        self._complete = complete
        self._interim = interim
        self._parser = httptools.HttpRequestParser(self)
        self.deadline = time.monotonic() + limits.header_seconds
        self._held = 0
        self._known: KnownHead | None = None
        self._finished: list[Request] = []
        self._reset()

    @property
    def begun(self) -> bool:
        """A request is there in part."""
        return self._in_body or bool(self._header_bytes)

    def buffer(self) -> memoryview:
        """Where the next bytes go."""
        return self._scratch if self._direct is None else self._direct[self._filled :]

    def received(self, count: int) -> None:
        """So many bytes are in the buffer. Raises AscendError: what follows can't be understood."""
        if self._direct is not None:
            self._filled += count
            if self._filled == len(self._direct):
                self._finish(self._direct)
                self._parser = httptools.HttpRequestParser(self)
            return
        fresh = not self.begun
        if fresh and self._knows(count):
            return
        self._parse(self._scratch[:count])
        if self._in_body:
            self._watch_body(count)
        elif self._header_bytes:
            self._watch_header(count)
        elif fresh and len(self._finished) == 1:
            self._known = known_head(self._finished[0], self._scratch[:count]) or self._known
        self._finished.clear()

    def _parse(self, data: memoryview | bytes) -> None:
        while data:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserCallbackError as error:
                cause = error.__context__
                raise cause if isinstance(cause, AscendError) else internal(cause or error) from None
            except httptools.HttpParserUpgrade as upgrade:
                if not self._upgrade:  # CONNECT: nothing can follow it
                    return
                data = self._upgrade + bytes(data[upgrade.args[0] :])
                self._parser = httptools.HttpRequestParser(self)
                self._reset()
            except httptools.HttpParserError as error:
                raise AscendError("E50001", f"this is no HTTP request ({error})") from None
            else:
                return

    def release(self) -> None:
        """Gives up a request that isn't complete."""
        self._budget.take(-self._held)
        self._held = 0

    def close(self) -> None:
        """As release, for good: no reference to the connection stays, which would keep both until the next
        collection of cycles."""
        self.release()
        self._reset()
        self._finished.clear()
        del self._parser, self._complete, self._interim

    # --- called by the parser ------------------------------------------------------------------

    def _reset(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._header_bytes = 0
        self._header_reads = 0
        self._pieces: list[bytes] = []
        self._received = 0
        self._length = 0
        self._chunked: bytearray | None = None
        self._framing = 0
        self._in_body = False
        self._upgrade = b""
        self._direct: memoryview | None = None
        self._filled = 0

    def on_message_begin(self) -> None:
        self._header_bytes = 1
        self.deadline = time.monotonic() + self._limits.header_seconds

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._count_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_header(len(name) + len(value) + 4)
        if self._in_body:
            return  # a trailer: nothing here has a use for one
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key in self._headers:
            if key in _SINGLE:
                raise AscendError("E50001", f"the header {key} is there twice")
            text = f"{self._headers[key]}, {text}"
        self._headers[key] = text

    def on_headers_complete(self) -> None:
        headers = self._headers
        if "host" not in headers and self._parser.get_http_version() != "1.0":
            raise AscendError("E50001", "an HTTP/1.1 request has a header host")
        if self._parser.should_upgrade() and self._parser.get_method() != b"CONNECT":
            self._upgrade = self._without_upgrade()
            return
        if "transfer-encoding" in headers:
            self._begin_chunks(headers["transfer-encoding"])
        self._in_body = True
        length = int(headers.get("content-length", 0))
        if self._tokens is not None and (length or self._chunked is not None):
            self._tokens.require(headers.get("authorization", ""))
        if length:
            if length > self._limits.body:
                raise AscendError("E50005", length, self._limits.body)
            self._length = length
            self._take(length)
            self.deadline = time.monotonic() + self._limits.body_seconds + length / _SLOWEST
        if "expect" in headers:
            self._expected(headers["expect"])

    def on_body(self, piece: bytes) -> None:
        if self._chunked is None:
            self._received += len(piece)
            self._pieces.append(piece)
            return
        if len(self._chunked) + len(piece) > self._limits.body:
            raise AscendError("E50005", f"more than {self._limits.body}", self._limits.body)
        self._take(len(piece))
        self._chunked += piece
        self.deadline += len(piece) / _SLOWEST

    def on_message_complete(self) -> None:
        if self._upgrade:
            return
        if self._chunked is not None:
            self._finish(memoryview(self._chunked))
        else:
            self._finish(self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces))

    def _without_upgrade(self) -> bytes:
        """The head of a request that offers another protocol, as if it didn't: the parser would take its body
        for that protocol. Java's client offers HTTP/2 with every first request."""
        lines = [f"{self._parser.get_method().decode()} {self._url.decode('latin-1')} HTTP/1.1"]
        lines += [f"{name}: {text}" for name, text in self._headers.items() if name != "upgrade"]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    # --- bodies --------------------------------------------------------------------------------

    def _begin_chunks(self, encodings: str) -> None:
        if encodings.lower() != "chunked" or self._parser.get_http_version() != "1.1":
            raise AscendError("E50001", "the only transfer-encoding is chunked, in HTTP/1.1")
        self._chunked = bytearray()
        self.deadline = time.monotonic() + self._limits.body_seconds

    def _expected(self, what: str) -> None:
        if what.lower() != "100-continue":
            raise AscendError("E50023", what[:40])
        if self._parser.get_http_version() == "1.1":
            self._interim(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _watch_body(self, count: int) -> None:
        """After bytes that didn't end a body: room for what is left of a large one; chunks have to be more
        than framing."""
        if self._chunked is None:
            if self._length >= _DIRECT:
                self._take_over()
            return
        self._framing += count
        if self._framing > SCRATCH + 2 * len(self._chunked):
            raise AscendError("E50001", "its chunks are too small")

    def _take_over(self) -> None:
        json_size = self._headers.get("inference-header-content-length", "0")
        lead = -int(json_size) % _ALIGNMENT if json_size.isdecimal() and len(json_size) < 10 else 0
        place = np.empty(lead + self._length + _ALIGNMENT, np.uint8)
        lead += -place.ctypes.data % _ALIGNMENT
        self._direct = memoryview(place.data)[lead : lead + self._length]
        for piece in self._pieces:
            self._direct[self._filled : self._filled + len(piece)] = piece
            self._filled += len(piece)
        self._pieces.clear()

    def _finish(self, body: Body) -> None:
        path, _, query = self._url.decode("latin-1").partition("?")
        if not path.startswith("/"):
            path = _path_of(path)
        parser = self._parser
        keep_alive = parser.should_keep_alive() and not parser.should_upgrade()
        request = Request(
            parser.get_method().decode(),
            path,
            query,
            self._headers,
            body,
            keep_alive,
            self._budget,
            self._held,
        )
        self._held = 0
        if self._direct is None:
            self._finished.append(request)
        self._reset()
        self._complete(request)

    def _knows(self, count: int) -> bool:
        """Whether what was read is one whole request with the known head; then it is handled."""
        known = self._known
        if known is None or count != len(known.head) + known.length:
            return False
        data = bytes(self._scratch[:count])
        if not data.startswith(known.head):
            return False
        head, method, path, query, headers, length = known
        self._budget.take(length)
        self._complete(Request(method, path, query, headers, data[len(head) :], True, self._budget, length))
        return True

    def _take(self, size: int) -> None:
        self._budget.take(size)
        self._held += size

    def _count_header(self, count: int) -> None:
        self._header_bytes += count
        if self._header_bytes > self._limits.header:
            raise AscendError("E50012", self._limits.header)

    def _watch_header(self, count: int) -> None:
        """After bytes that didn't end a header: the parser keeps an endless value to itself. What was read
        with its beginning may belong to requests before."""
        self._header_reads += count
        if self._header_reads > self._limits.header + SCRATCH:
            raise AscendError("E50012", self._limits.header)


def _path_of(target: str) -> str:
    """The path of a whole URL, as proxies send it."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return target
    return parts.path or "/" if parts.scheme in ("http", "https") and parts.netloc else target
