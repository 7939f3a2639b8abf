"""A connection that is gone leaves nothing that waits for the collector of cycles."""

from __future__ import annotations

import gc
import socket
import time

import pytest
from running import Running

from ascend_ep.serving.http.connection import Connection

HEAD = b"POST /v2/models/rows/infer HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n"


def there() -> set[int]:
    return {id(o) for o in gc.get_objects() if isinstance(o, Connection)}


@pytest.mark.parametrize("sent", [HEAD + b"x" * 200_000, HEAD[:20], b""], ids=["a body", "a header", "no"])
def test_closed_in_the_middle_of(running: Running, sent: bytes) -> None:
    gc.collect()
    gc.disable()
    try:
        before = there()
        with socket.create_connection(("127.0.0.1", running.port)) as client:
            client.sendall(sent)
            until = time.monotonic() + 5
            while not there() - before and time.monotonic() < until:
                time.sleep(0.005)
        while there() - before and time.monotonic() < until:
            time.sleep(0.005)
        assert not there() - before
    finally:
        gc.enable()
