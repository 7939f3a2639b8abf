"""Headers of kernels' units are compiled once, and change nothing but the time."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ascend_ep.opbuild.ascendc import cpp, precompiled
from ascend_ep.opbuild.ascendc.cpp import Unit, linked

pytestmark = pytest.mark.skipif(
    shutil.which("c++") is None or len(os.sched_getaffinity(0)) < 2,
    reason="needs a C++ compiler and two CPUs",
)
TEXT = """#include "kernel_operator.h"
{}
static_assert(sizeof(AscendC::LocalTensor<float>) > 0);
int main() {{ return {}; }}
"""


@pytest.fixture(autouse=True)
def again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompiled, "_STARTED", set())


def status(number: int, folder: Path, more: str = "", flags: tuple[str, ...] = ()) -> int:
    unit = Unit("unit", TEXT.format(more, number), flags=("-std=c++17", "-O0", *flags))
    return subprocess.run([linked([unit], "run", folder)], check=False).returncode


def test_what_comes_twice_is_compiled_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    run = cpp._run_compiler

    def recorded(command: list[str], *rest: object, **named: object) -> str:
        commands.append(list(command))
        return run(command, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(cpp, "_run_compiler", recorded)
    assert status(1, tmp_path) == 1
    assert not list(tmp_path.glob("*.gch"))
    assert status(2, tmp_path) == 2
    (made,) = tmp_path.glob("*.h.gch")
    assert made.stat().st_size > 1 << 20
    commands.clear()
    assert status(3, tmp_path) == 3
    assert str(made)[: -len(".gch")] in commands[0]
    # what its maker's macros and its own change is read anew
    assert status(4, tmp_path, "#ifndef OTHER\n#error\n#endif", ("-DOTHER",)) == 4
    made.write_bytes(made.read_bytes()[:-1])  # cut by a full disk
    commands.clear()
    assert status(5, tmp_path) == 5
    assert all("-include" not in command for command in commands)


def test_an_object_is_the_same(tmp_path: Path) -> None:
    for number in (1, 2):
        status(number, tmp_path / "with")
    for folder in ("with", "without"):
        status(7, tmp_path / folder)
    found = [{p.name: p.read_bytes() for p in (tmp_path / f).glob("*.o")} for f in ("with", "without")]
    (name,) = found[1]
    assert found[0][name] == found[1][name]
