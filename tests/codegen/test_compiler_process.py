"""Compilers end with who waits for them: whole groups of processes, and no more are started."""

from __future__ import annotations

import subprocess
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from ascend_ep.codegen.compiler_process import CompilerPool, run

#: As a compiler's driver does: it waits for another process, which holds the pipes.
SLOW = ["/bin/sh", "-c", "sleep 300; exit 3"]


def test_what_it_says() -> None:
    done = run(["/bin/sh", "-c", "echo out; printf '\\377' >&2; exit 3"], 60)
    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "\ufffd", 3)


def test_one_that_takes_too_long(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run(SLOW, 0.05)


def test_a_pool_that_is_left() -> None:
    pool = CompilerPool(2)
    running = pool.submit(run, SLOW, 200)
    twice = pool.submit(lambda: (run(SLOW, 200).returncode, run(SLOW, 200)))
    while len(pool._group.running) < 2:
        pass
    pool.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert running.result().returncode == -9
    assert isinstance(twice.exception(), CancelledError)
