"""Every allocation and every system call fails in turn: no crash, hang, leak, wrong number or half a file.

A sample; tools/faults has the whole, and --slow runs it.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest
from fault_injection import bundles, native, python
from fault_injection.outcome import Campaign

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.skipif(
        platform.machine() != "x86_64" or sys.platform != "linux", reason="the library is of x86-64 Linux"
    ),
    pytest.mark.measures,
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("faults")
    native.build(made)
    return made


@pytest.fixture(scope="module")
def commands(folder: Path) -> dict[str, list[str]]:
    program = str(folder / "run_bundle")
    return {name: [program, *arguments] for name, arguments in bundles.write(folder).items()}


def holds(campaign: Campaign, least: int) -> None:
    assert campaign.calls >= least
    assert not campaign.findings(), "\n".join(map(str, campaign.findings()))
    # What doesn't fail shows nothing.
    assert any(o.end == "an error" for o in campaign.outcomes)


@pytest.mark.parametrize(
    ("name", "what", "on"), [("mapped", "alloc", False), ("weights beside it", "calls", True)]
)
def test_a_c_program(folder: Path, commands: dict[str, list[str]], name: str, what: str, on: bool) -> None:
    holds(native.sweep(name, folder, commands[name], what, every=2, on=on), 20)


@pytest.mark.parametrize("scenario", ["convert", "serve"])
def test_in_python(folder: Path, tmp_path: Path, scenario: str) -> None:
    holds(python.sweep(folder / "faults.so", tmp_path / "made", scenario, "calls", "EIO", 8), 40)


def test_a_command_that_starts_others(folder: Path, tmp_path: Path) -> None:
    """Without a descriptor from the n-th on."""
    made = tmp_path / "made"
    holds(python.sweep(folder / "faults.so", made, "ascend-om reduce", "calls", "EMFILE", 3, on=True), 4)


def test_files_are_old_or_new_when_the_power_fails(folder: Path, tmp_path: Path) -> None:
    """And so are names, where those that no fsync followed are lost."""
    library = folder / "faults.so"
    sweeps = "bundle_and_weights/1/2", "bundle_and_weights/2/kept", "trusted/1/lost", "trusted/2/kept"
    for campaign in python.power(library, tmp_path / "synced", *sweeps):
        assert campaign.calls >= 3
        assert not campaign.findings()
    unsynced = python.power(library, tmp_path / "unsynced", "report/2/kept", "report/2/lost", sync=False)
    details = [[o.detail for o in campaign.findings()] for campaign in unsynced]
    assert details == [["report.json is torn: 6000 bytes of 12000"], ["report.json isn't new"]]


def test_a_wrong_program_is_found(folder: Path, tmp_path: Path) -> None:
    """One that takes no notice of malloc's failure."""
    source, program = tmp_path / "wrong.c", tmp_path / "wrong"
    text = "int main(void) { char *x = malloc(9); *(volatile char *)x = 1; free(x); return 0; }"
    source.write_text(f"#include <stdlib.h>\n{text}\n")
    subprocess.run(["cc", "-O0", "-o", program, source], check=True)
    campaign = native.sweep("wrong", folder, [str(program)], "alloc")
    assert [o.end for o in campaign.findings()] == ["ended by SIGSEGV"]


@pytest.mark.slow
def test_all_of_it() -> None:
    done = subprocess.run([ROOT / "tools" / "faults"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
