"""Files that are mount points, as `docker -v file:file` makes them, and folders on other file systems: they
are written, or an error says why not and the old content stays."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_ep import atomic_file

PROGRAM = Path(__file__).with_name("mounted_files.py")
Told = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """What each attempt ended in."""
    unshare = shutil.which("unshare")
    own = [unshare or "", "--mount", "--map-root-user"]
    if unshare is None or subprocess.run([*own, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system gives no mount namespace")
    command = [*own, sys.executable, str(PROGRAM), str(tmp_path_factory.mktemp("mounts") / "root")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line.pop("name"): line for line in lines}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("writable", "new and longer"),
        ("shorter", "new"),
        ("by a link", "new"),
        ("writable in a folder that isn't", "new"),
        ("C: shorter", "new"),
        ("C: writable in a folder that isn't", "newer"),
    ],
)
def test_a_mounted_file_is_written(told: Told, name: str, content: str) -> None:
    assert told[name] == {"error": "", "now": content, "size": len(content), "left": []}


def test_what_is_made_beside_it_goes_into_it(told: Told) -> None:
    assert told["put"] == {"now": "new", "made": False}


def test_a_long_file_is_copied_whole(told: Told) -> None:
    assert told["C: writable"] == {"error": "", "now": "\0" * 20, "size": 100_001, "left": []}


def test_a_link_of_our_own_is_replaced(told: Told) -> None:
    assert told["put over a link"] == {"now": "new", "link": False, "there": "newer"}


def test_a_mode_that_only_the_owner_may_change(told: Told) -> None:
    assert told["of another owner"] == {"now": "new"}


def test_an_error_leaves_the_old_content(told: Told) -> None:
    for name in ("read only", "C: read only"):
        assert told[name] == {"error": "Read-only file system", "now": "old", "size": 3, "left": []}
    assert told["C: not whole"]["now"] == "old"
    assert told["C: not whole"]["left"] == []
    assert told["an error in between"] == {"now": "old"}


@pytest.mark.parametrize("name", ["full", "mounted and full", "C: mounted and full"])
def test_a_full_file_system_leaves_the_old_content(told: Told, name: str) -> None:
    if name not in told:
        pytest.skip("no file system in memory can be mounted")
    assert told[name] == {"error": "No space left on device", "now": "old", "size": 3, "left": []}


def test_an_overlay_keeps_the_layer_below(told: Told) -> None:
    if "overlay" not in told:
        pytest.skip("no overlay can be mounted")
    assert told["overlay"] == {"error": "", "now": "new", "size": 3, "left": []}
    assert told["overlay below"] == {"now": "old"}


@pytest.mark.parametrize(
    ("name", "begins"), [("ascend-atc", "IMOD"), ("--json", "{\n  "), ("ascend-om run", "PK\x03\x04")]
)
def test_commands_write_them(told: Told, name: str, begins: str) -> None:
    assert (told[name]["status"], told[name]["begins"]) == (0, begins)


@pytest.mark.parametrize("name", ["ascend-atc, read only", "--json, read only"])
def test_commands_refuse_before_they_work(told: Told, name: str) -> None:
    said = told[name]["said"]
    assert told[name]["status"] == 255
    assert "E10001" in said
    assert "is mounted, and is not writable" in said
    assert "Partition table" not in said


def test_other_files_are_no_mounts(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    assert not atomic_file.is_mounted(tmp_path / "x")
    assert not atomic_file.is_mounted(tmp_path / "absent")
    assert not atomic_file.is_mounted(tmp_path)
