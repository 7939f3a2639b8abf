"""HTTP from below: bytes out, answers in, so that a client can also misbehave."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import TracebackType

#: No answer may take longer.
PATIENCE = 30.0


class Gone(Exception):
    """The server closed the connection, before an answer or within it."""


@dataclass(frozen=True)
class Answer:
    """header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def closes(self) -> bool:
        return self.headers.get("connection", "").lower() == "close"


class Connection:
    """One connection to the server; `async with` closes it."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Connection:
        opening = asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        try:
            self._reader, self._writer = await asyncio.wait_for(opening, PATIENCE)
        except OSError as error:
            raise Gone(f"no connection: {error}") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.transport.abort()

    async def send(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await asyncio.wait_for(self._writer.drain(), PATIENCE)
        except OSError as error:
            raise Gone(f"while sending: {error}") from error

    def half_close(self) -> None:
        """Says that nothing more will be sent."""
        if self._writer.can_write_eof():
            self._writer.write_eof()

    async def answer(self) -> Answer:
        """The next answer but 100 Continue. Raises Gone; TimeoutError when none comes."""
        return await asyncio.wait_for(self._answer(), PATIENCE)

    async def _answer(self) -> Answer:
        try:
            while True:
                head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.rstrip().split("\r\n")
                status = int(first.split(" ")[1])
                if status != 100:
                    break
            headers = {name.lower(): value.strip() for name, _, value in (i.partition(":") for i in lines)}
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        except (OSError, asyncio.IncompleteReadError) as error:
            raise Gone(f"before an answer: {error}") from error
        return Answer(status, headers, body)


def post(path: str, body: bytes, *headers: str) -> bytes:
    """The bytes of a request."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body
