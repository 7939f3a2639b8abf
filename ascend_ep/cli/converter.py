"""`ascend-ep converter`: the process of libascendcl's conversions.

aclopCompileAndExecute and aclgrphBuildModel ask for them. It answers command lines of ascend-atc on the
socket that is its standard input, until that closes, or nothing comes for a while: so the compiler's
modules are loaded once.
"""

from __future__ import annotations

import os
import select
import stat
import struct
import sys
import traceback
from collections.abc import Callable, Sequence

from ascend_ep.errors import AscendError

#: Seconds without work after which it ends; libascendcl begins it again.
PATIENCE = 300
ENDED = 1


class Requests:
    """What comes on a file descriptor: words that end in NUL, after their count."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._bytes = b""

    def wait(self) -> bool:
        """Whether a request has come: False at the end, or after too long without one."""
        if not select.select([self._descriptor], [], [], PATIENCE)[0]:
            return False
        return self._read(1)

    def words(self) -> list[str]:
        """Raises EOFError where the other side went away."""
        if not self._read(4):
            raise EOFError
        (count,) = struct.unpack("=I", self._bytes[:4])
        self._bytes = self._bytes[4:]
        found: list[str] = []
        while len(found) < count:
            word, end, rest = self._bytes.partition(b"\0")
            if end:
                found.append(os.fsdecode(word))
                self._bytes = rest
            elif not self._read(len(self._bytes) + 1):
                raise EOFError
        return found

    def _read(self, count: int) -> bool:
        while len(self._bytes) < count:
            read = os.read(self._descriptor, 1 << 16)
            if not read:
                return False
            self._bytes += read
        return True


def run() -> int:
    """Returns at once, in the caller's child; the answers come from a process that is nobody's child. Raises
    AscendError E40021 where nobody can ask: then it would stay for nothing."""
    if not stat.S_ISSOCK(os.fstat(0).st_mode):
        reason = "converter answers libascendcl on a socket, and standard input is none"
        raise AscendError("E40021", reason, fix="Use ascend-atc.")
    if os.fork():
        return 0
    try:
        from ascend_ep.cli.atc import main

        answer(0, main)
    except (EOFError, OSError):  # nobody waits any more
        pass
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def answer(descriptor: int, convert: Callable[[Sequence[str]], int]) -> None:
    """Converts as long as requests come. Raises EOFError or OSError where the other side went away."""
    requests = Requests(descriptor)
    while requests.wait():
        folder, log = requests.words()
        flags = requests.words()
        environment = dict(word.partition("=")[::2] for word in requests.words())
        os.environ.clear()
        os.environ.update(environment)
        status = converted(convert, flags, folder, log)
        os.write(descriptor, struct.pack("=i", status))


def converted(convert: Callable[[Sequence[str]], int], flags: Sequence[str], folder: str, log: str) -> int:
    """The exit status of one command line, which prints to the log."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.close(out)
    try:
        os.chdir(folder)
        return convert(flags)
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else ENDED
    except BaseException:
        traceback.print_exc()
        return ENDED
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
