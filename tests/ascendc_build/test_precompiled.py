"""Headers of kernels' units are compiled once, and change nothing but the time."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ascend_ep.codegen.cache import keep
from ascend_ep.opbuild.ascendc import cpp, precompiled
from ascend_ep.opbuild.ascendc.cpp import Unit, linked
from ascend_ep.opbuild.ascendc.precompiled import Beginning

pytestmark = pytest.mark.skipif(
    shutil.which("c++") is None or len(os.sched_getaffinity(0)) < 2,
    reason="needs a C++ compiler and two CPUs",
)
#: Small: what is said here of it holds for the one of kernels, which every run of the tests precompiles.
HEADER = "cpu/memory.h"
TEXT = f"""#include "{HEADER}"
static_assert(sizeof(asc_cpu::Chip) > 0);
int main() {{{{ return {{}}; }}}}
"""
FLAGS = ("-std=c++17", "-O0")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompiled, "_LARGE", HEADER)


def status(number: int, folder: Path) -> int:
    unit = Unit("unit", TEXT.format(number), flags=FLAGS)
    return subprocess.run([linked([unit], "run", folder)], check=False).returncode


def test_what_comes_twice_is_compiled_and_changes_no_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    run = cpp._run_compiler

    def recorded(command: list[str], *rest: object, **named: object) -> str:
        commands.append(list(command))
        return run(command, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(precompiled, "_STARTED", set())
    monkeypatch.setattr(cpp, "_run_compiler", recorded)
    assert status(1, tmp_path / "with") == 1
    assert not list(tmp_path.rglob("*.gch"))
    assert status(2, tmp_path / "with") == 2
    (made,) = tmp_path.rglob("*.h.gch")
    assert made.stat().st_size > 1 << 20
    commands.clear()
    for folder in ("with", "without"):
        assert status(3, tmp_path / folder) == 3
    assert [str(made.with_suffix("")) in c for c in commands if "-c" in c] == [True, False]
    found = [{p.name: p.read_bytes() for p in (tmp_path / f).glob("*.o")} for f in ("with", "without")]
    (name,) = found[1]
    assert found[0][name] == found[1][name]


def test_one_that_was_cut_is_not_used(tmp_path: Path) -> None:
    def beginning() -> Beginning:
        return Beginning(TEXT, ["c++"], FLAGS, b"identity", tmp_path)

    made = beginning()
    assert (made.is_due(set()), made.is_due(set())) == (False, True)
    (tmp_path / "made").write_bytes(b"compiled")
    keep(tmp_path / "made", made.compiled)
    assert beginning().flags() == ["-include", str(made.header)]
    made.compiled.write_bytes(b"comp")  # by a full disk
    assert beginning().flags() == []


def test_units_of_one_program_are_over_before_it_is_compiled(tmp_path: Path) -> None:
    made = Beginning(TEXT, ["c++"], FLAGS, b"identity", tmp_path)
    left: set[Path] = set()
    assert (made.is_due(left), made.is_due(left)) == (False, False)
    assert made.is_due(set())


def test_what_has_no_kernel_is_not_worth_it(tmp_path: Path) -> None:
    for text in ("int main() { return 0; }", '#include "host/parts.h"\n'):
        assert not Beginning(text, ["c++"], FLAGS, b"identity", tmp_path).is_due(set())
    assert not list(tmp_path.iterdir())
