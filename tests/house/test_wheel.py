"""The wheel and the source distribution as they would be published: what the tools of those who publish say.

tools/test --slow names the wheel, and an environment of these tools.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
#: Bytes of the run side in a wheel's install: beside it numpy alone has more.
MOST_INSTALLED = 40e6


@pytest.fixture(scope="module")
def tools() -> Path:
    given = os.environ.get("ASCEND_EP_TEST_WHEEL_TOOLS", "")
    if not given:
        pytest.skip("ASCEND_EP_TEST_WHEEL_TOOLS names no environment: tools/test --slow makes it")
    return Path(given)


@pytest.fixture(scope="module")
def wheel() -> Path:
    given = os.environ.get("ASCEND_EP_TEST_WHEEL", "")
    if not given:
        pytest.skip("ASCEND_EP_TEST_WHEEL names no wheel: tools/test --slow builds it")
    return Path(given).resolve()


def said(tools: Path, *words: object, cwd: Path = ROOT) -> str:
    path = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    line = [str(tools / str(words[0])), *map(str, words[1:])]
    done = subprocess.run(line, cwd=cwd, env=os.environ | path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_pyroma_misses_nothing_but_a_home_page(tools: Path) -> None:
    done = subprocess.run(
        [tools / "pyroma", "--min", "9", "."], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_wheel_holds(tools: Path, wheel: Path) -> None:
    said(tools, "check-wheel-contents", "--config", ROOT / "pyproject.toml", wheel)
    with zipfile.ZipFile(wheel) as file:
        assert sum(member.file_size for member in file.infolist()) < MOST_INSTALLED
        assert any("/sboms/" in name for name in file.namelist())


def test_the_stable_abi_alone_is_used(tools: Path, wheel: Path) -> None:
    found = json.loads(said(tools, "abi3audit", "--strict", "--report", wheel))
    modules = {m["name"]: m["result"] for (spec,) in [found["specs"].values()] for m in spec["wheel"]}
    assert {"_rt.abi3.so", "_call.abi3.so", "_numbers.abi3.so"} <= modules.keys()
    assert all(result["is_abi3"] and not result["non_abi3_symbols"] for result in modules.values())


def test_repairing_needs_no_library_of_others(tools: Path, wheel: Path, tmp_path: Path) -> None:
    """As cibuildwheel repairs it in manylinux's image: here for the C library of this machine."""
    said(tools, "auditwheel", "repair", "-w", tmp_path, wheel, "--exclude", "libascend_rt.so")
    (repaired,) = tmp_path.glob("*manylinux*.whl")
    with zipfile.ZipFile(repaired) as after, zipfile.ZipFile(wheel) as before:
        assert {n for n in after.namelist() if not n.endswith("/")} == set(before.namelist())


def test_the_source_distribution_builds(tools: Path, tmp_path: Path) -> None:
    """It holds what git tracks, and from it alone the build finds every file that it compiles."""
    said(tools, "python", "-m", "build", "--no-isolation", "-s", "-o", tmp_path, ROOT)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wanted = {name for name in tracked.splitlines() if not name.startswith(".") and (ROOT / name).exists()}
    held = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert not wanted - held
    said(tools, "cmake", "-S", source, "-B", tmp_path / "made", "-G", "Ninja")
    said(tools, "ninja", "-C", tmp_path / "made", "-n")
