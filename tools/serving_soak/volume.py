"""Requests by the million: answers are judged once, and each later one is compared with them byte by byte.

A process of its own keeps some connections, with a batch of requests on its way on each. What is asked is
drawn by seed: tensors in both forms, questions about models, and what is refused without an end of the
connection.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import re
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe

from .connection import PATIENCE, Connection, post
from .malformed import PATH, WRONG_TENSORS
from .models import Asked
from .tally import SUSPENDED, Tally
from .valid import FORMS, LONG_JSON, check, encoded_as

CONNECTIONS, BATCH = 8, 24
#: One batch of so many is one large tensor, which is one of more bytes.
LARGE_EVERY, SMALL = 50, 1 << 16
#: Requests between two words to the run.
TELL_EVERY = 20_000
#: Seconds between two lines about a long run.
SHOW_EVERY = 60.0
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
_PATHS = (
    "/v2/health/live", "/v2/health/ready", "/v2", "/v2/models/mlp", "/v2/models/mlp/versions/2",
    "/v2/models/mlp/ready", "/v2/models/pooled", "/v2/models/none", "/v2/models/mlp/versions/9",
    "/v2/no",
)  # fmt: skip


class Wrong(Exception):
    """An answer that isn't the one that was judged."""


class Ended(Wrong):
    """No answer: the connection ended."""


@dataclass(frozen=True)
class Exchange:
    """A request, and the answer to it. name: what it is counted as."""

    name: str
    sent: bytes
    status: bytes
    body: bytes


async def exchanges(port: int, questions: list[Asked], tally: Tally) -> list[Exchange]:
    """Asks each question once; the answers are judged as those of all other traffic."""
    found = []
    for asked in questions:
        for form in FORMS:
            sent = encoded_as(form, asked)
            async with Connection(port) as connection:
                await connection.send(sent)
                answer = await connection.answer()
            check(asked, form, answer, tally)
            found.append(Exchange(f"{asked.model}, {form}", sent, b"%d" % answer.status, answer.body))
    for name, sent in (*_gets(), *_refused()):
        async with Connection(port) as connection:
            await connection.send(sent)
            answer = await connection.answer()
        tally.refusal(name, answer)
        if not answer.closes:
            found.append(Exchange(name, sent, b"%d" % answer.status, answer.body))
    return found


def _gets() -> Iterator[tuple[str, bytes]]:
    for path in _PATHS:
        yield "a question", f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def _refused() -> Iterator[tuple[str, bytes]]:
    right = {"name": "x", "shape": [1, 64], "datatype": "FP32", "data": [0.5] * 64}
    for wrong in WRONG_TENSORS:
        yield "a wrong tensor", post(PATH, json.dumps({"inputs": [right | wrong]}).encode())
    for body in (b"", b"{", b"null", b"[]", b'{"inputs":{}}', b"\xff\xfe", b"[" * 5000):
        yield "wrong JSON", post(PATH, body)


class Volume:
    """The process, which begins at once."""

    def __init__(self, port: int, known: list[Exchange], seed: int, requests: int, seconds: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._said, said = context.Pipe(duplex=False)
        given = (port, known, seed, requests, seconds, said)
        self._process = context.Process(target=_run, args=given, daemon=True)
        self._process.start()
        said.close()
        self._requests, self._counts = requests, Counter[str]()
        self._shown, self._shown_at = 0, time.monotonic()

    def more(self, tally: Tally) -> bool:
        """Whether it still asks. Counts what it has told: answers that were as they should be, by name."""
        try:
            while self._said.poll():
                told = self._said.recv()
                if isinstance(told, str):
                    tally.wrong(told)
                    continue
                tally.counts.update({f"many: {name}": n - self._counts[name] for name, n in told.items()})
                self._counts = told
        except EOFError:
            self._process.join()
            if self._process.exitcode:
                tally.wrong(f"the client of many requests ended with {self._process.exitcode}")
            return False
        self._show()
        return True

    def _show(self) -> None:
        """A line for each minute on the standard error."""
        now, done = time.monotonic(), self._counts.total()
        if (took := now - self._shown_at) < SHOW_EVERY:
            return
        rate = (done - self._shown) / took
        print(f"{done:,} of {self._requests:,}, {rate:.0f} a second", file=sys.stderr, flush=True)
        self._shown, self._shown_at = done, now

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()


def _run(port: int, known: list[Exchange], seed: int, requests: int, seconds: float, said: Pipe) -> None:
    until = time.monotonic() + seconds
    choice, counts, told = random.Random(seed), Counter[str](), 0
    clients = [Client(port) for _ in range(CONNECTIONS)]
    try:
        while (done := counts.total()) < requests and time.monotonic() < until:
            began = time.monotonic()
            try:
                _turn(clients, known, choice, counts)
            except (OSError, Ended):
                if time.monotonic() - began < SUSPENDED:
                    raise
                counts["connections that a suspension ended"] += 1
                clients = [Client(port) for _ in range(CONNECTIONS)]
            if done - told >= TELL_EVERY:
                told = done
                said.send(counts)
    except (OSError, Wrong) as error:
        said.send(f"{type(error).__name__}: {error}")
    said.send(counts)


def _turn(clients: list[Client], known: list[Exchange], choice: random.Random, counts: Counter[str]) -> None:
    """A batch on each connection."""
    small = [each for each in known if len(each.sent) <= SMALL]
    large = [each for each in known if len(each.sent) > SMALL]
    binary = [each for each in large if each.name.endswith("binary")]
    for client in clients:
        if choice.randrange(LARGE_EVERY):
            client.ask(choice.choices(small, k=BATCH))
        else:
            client.ask([choice.choice(binary if choice.random() > LONG_JSON else large)])
    for client in clients:
        client.compare(counts)


class Client:
    """A connection with a batch on its way."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._asked: list[Exchange] = []
        self._got = bytearray()

    def ask(self, batch: list[Exchange]) -> None:
        self._asked = batch
        self._socket.sendall(b"".join([each.sent for each in batch]))

    def compare(self, counts: Counter[str]) -> None:
        """Raises Wrong for an answer that isn't the one to its request, and OSError where none comes."""
        at = 0
        for each in self._asked:
            while (end := self._got.find(b"\r\n\r\n", at)) < 0:
                self._more()
            head, begin = self._got[at : end + 2], end + 4
            status, length = bytes(head[9:12]), _LENGTH.search(head)
            at = begin + (int(length[1]) if length else 0)
            while len(self._got) < at:
                self._more()
            if status == b"503" and b"\r\nretry-after:" in head:
                counts["refused for the time being"] += 1
            elif status != each.status or self._got[begin:at] != each.body:
                got = bytes(head) + bytes(self._got[begin:at][:200])
                raise Wrong(f"{each.name}: {each.sent[:200]!r} got {got!r}")
            else:
                counts[each.name] += 1
        del self._got[:at]
        if self._got:
            raise Wrong(f"an answer to no request: {bytes(self._got[:200])!r}")

    def _more(self) -> None:
        try:
            data = self._socket.recv(1 << 20)
        except ConnectionError as error:
            raise Ended(f"the connection ended: {error}") from error
        if not data:
            raise Ended("the connection ended")
        self._got += data
