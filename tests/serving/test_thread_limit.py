"""Without a thread or a descriptor left, what needs one is refused with a code and no traceback."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket

import pytest

from ascend_ep.cli.command import command
from ascend_ep.serving.http.listener import settle
from ascend_ep.serving.refusals import internal, status_of

REFUSED = "can't start new thread"


def test_a_request_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        error = internal(RuntimeError(REFUSED))
    assert error.code == "E50054"
    assert status_of(error).http == 503
    assert not caplog.records
    assert internal(RuntimeError("another")).code == "E50010"


def test_a_command_ends_with_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    @command("ascend-serve")
    def main(arguments: list[str]) -> int:
        raise RuntimeError(REFUSED)

    assert main([]) == 1
    assert capsys.readouterr().err.startswith("E40002: ascend-serve can't start a thread")


def test_a_server_closes_without_a_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is closed when its start fails for that."""
    with socket.socket() as one, socket.socket() as two:
        for each in (one, two):
            each.bind(("127.0.0.1", 0))
            each.listen()
        dup, left = os.dup, [None]

        def last(number: int) -> int:
            if not left:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            left.pop()
            return dup(number)

        monkeypatch.setattr(os, "dup", last)
        before = len(os.listdir("/proc/self/fd"))
        asyncio.run(settle([one.fileno(), two.fileno()]))
        assert len(os.listdir("/proc/self/fd")) == before
