"""Where the system lets no thread start, what needs one is refused with a code and no traceback."""

from __future__ import annotations

import logging

import pytest

from ascend_ep.cli.command import command
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
