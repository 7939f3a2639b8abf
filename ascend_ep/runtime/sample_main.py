"""The process that runs samples: `python -m ascend_ep.runtime.sample_main`.

It takes one job after the other from its standard input and answers on its standard output. It ends with its
input, or when nothing comes.
"""

from __future__ import annotations

import os
import resource
import select
import warnings

from ascend_ep.errors import AscendError

from .sample_process import Answer, Array, Job

#: Seconds that it waits for another job.
IDLE_SECONDS = 10.0


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what else is printed is no answer
    jobs = _Unbuffered()
    while select.select([jobs], [], [], IDLE_SECONDS)[0]:
        try:
            job = Job.receive(jobs)
        except EOFError:
            return
        _answer(job).send(answers)


class _Unbuffered:
    """Standard input without a buffer, so that select sees what wasn't read."""

    def fileno(self) -> int:
        return 0

    def readline(self) -> bytes:
        """One line, byte by byte; less where there is no more."""
        line = b""
        while not line.endswith(b"\n") and (byte := os.read(0, 1)):
            line += byte
        return line

    def read(self, size: int, /) -> bytes:
        """All of the bytes; fewer where there are no more."""
        parts: list[bytes] = []
        while size and (part := os.read(0, min(size, 1 << 20))):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _answer(job: Job) -> Answer:
    results: list[Array] = []
    failure: AscendError | None = None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            results = job.run()
        except AscendError as error:
            failure = error
        except Exception as error:
            failure = AscendError("E40012", repr(error))
    return Answer(results, [str(w.message) for w in told if w.category is RuntimeWarning], failure)


if __name__ == "__main__":
    main()
