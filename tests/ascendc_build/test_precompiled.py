"""Headers of kernels' units are compiled once, and change nothing but the time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from test_project import TWICE

from ascend_ep.codegen.cache import keep
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.opbuild.ascendc import cpp, precompiled
from ascend_ep.opbuild.ascendc.apart import RUNTIME
from ascend_ep.opbuild.ascendc.cpp import Unit, linked
from ascend_ep.opbuild.ascendc.precompiled import Beginning
from ascend_ep.opbuild.kernels.units import KernelUnit

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


def test_what_is_the_same_for_all_kernels_is_in_an_object_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = {
        name
        for header in (HEADERS / "ascendc").rglob("*.h")
        for name in re.findall(
            r"^(?:\[\[noreturn\]\] )?ASC_RUNTIME [^(;]*\b(\w+)\(", header.read_text(), re.M
        )
    }
    assert {"check", "run", "fail"} <= runtime
    defined: dict[str, set[str]] = {}
    run = cpp._run_compiler

    def looked_at(command: list[str], target: Path, *rest: object, **named: object) -> str:
        said = run(command, target, *rest, **named)  # type: ignore[arg-type]
        if command[1:2] == ["-c"]:
            symbols = subprocess.run(["nm", "-C", target], capture_output=True, text=True, check=True).stdout
            found = re.findall(r"^\w+ [TW] asc_\w+::(?:\w+::)*~?(\w+)\(", symbols, re.M)
            defined[Path(command[command.index("-x") + 2]).stem] = runtime & set(found)
        return said

    monkeypatch.setattr(cpp, "_run_compiler", looked_at)
    kernel = tmp_path / "twice.cpp"
    kernel.write_text(TWICE)
    linked([replace(KernelUnit(kernel, "twice").unit(0, True), flags=FLAGS)], "so", tmp_path)
    assert defined == {"kernel0": set(), "runtime": runtime}


def test_units_that_see_each_other_leave_it_out_together() -> None:
    plain = Unit("plain", RUNTIME + "int x;\n")
    asks = Unit("asks", RUNTIME + "#ifdef __DAV_C220_VEC__\n#endif\n")
    alone = Unit("alone", RUNTIME + "int y;\n", kept="asc_kernel_0")
    host = Unit("host", "int z;\n")
    for units, wanted in (
        ([plain, host, alone], [plain, alone]),
        ([plain, asks, alone], [alone]),
        ([plain, replace(asks, kept="asc_kernel_1"), alone], [plain, alone]),
    ):
        assert cpp._without_runtime(units, cpp.find_cpp()) == wanted
