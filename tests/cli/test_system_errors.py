"""What the system refuses ends a command with a code, the file and the reason, and no traceback."""

from __future__ import annotations

import errno

import pytest

from ascend_ep.cli.command import command


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "m.om"), "E40002: can't use [m.om]: No space left"),
        (OSError(errno.EMFILE, "Too many open files"), "E40002: Too many open files\n   fix: Check the disk"),
        (MemoryError(), "E40008: ascend-x needs more memory"),
    ],
)
def test_a_call_that_fails(error: Exception, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    @command("ascend-x")
    def main(arguments: list[str]) -> int:
        raise error

    assert main([]) == 1
    assert capsys.readouterr().err.startswith(said)
