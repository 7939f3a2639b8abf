"""asc_compile: what build files call instead of a compiler, by every form of a command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ascend_ep.cli import compile_tool
from ascend_ep.cli.compile_tool import compilation

#: What g++ reads only as asc_compile gives it.
KERNEL = "struct K { template <int n> int f() { return 0; }\n  template <> int f<1>() { return 1; } };\n"
MAIN = "int main() { return K().f<1>() + 2 * K().f<2>() == 1 ? 0 : 1; }\n"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ascend_ep.cli.compile_tool", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_a_response_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "k 1.cpp").write_text(KERNEL + MAIN)
    (tmp_path / "inner.rsp").write_text("-O0\n'-DX=\"a b\"'\n")
    (tmp_path / "all.rsp").write_text('-c "k 1.cpp" @inner.rsp\n-o k.o')
    done = run(tmp_path, "g++", "@all.rsp")
    assert done.returncode == 0, done.stderr
    subprocess.run(["g++", "k.o", "-o", "program"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "program"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ([], 2, "usage: asc_compile COMPILER FLAG..."),
        (["-c", "k.cpp"], 2, "usage: asc_compile COMPILER FLAG..."),
        (["g++", "-c", "k.cpp", "-o"], 1, "-o"),
        (["g++", "-c", "none.cpp"], 1, "none.cpp"),
        (["g++", "@none.rsp"], 1, "none.rsp"),
        (["nonecc", "-c", "k.cpp"], 1, "E43002: The compiler [nonecc] failed: No such file or directory."),
        (["g++", "-c", "k.cpp", "-o", "none/k.o"], 1, "can't use [none/k.o]: No such file"),
        (["g++", "-c", "k.cpp", "-o", "folder"], 1, "can't use [folder]"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path: Path, words: list[str], status: int, says: str) -> None:
    (tmp_path / "k.cpp").write_text(KERNEL)
    (tmp_path / "folder").mkdir()
    done = run(tmp_path, *words)
    assert (done.returncode, says in done.stderr) == (status, True), done.stderr
    assert "Traceback" not in done.stderr
    assert {p.name for p in tmp_path.iterdir()} == {"k.cpp", "folder"}


@pytest.mark.parametrize(
    "line",
    [
        "g++ -c k.cpp -o",
        "g++ -c k.cpp k.cpp",
        "g++ -E -c k.cpp",
        "g++ k.cpp",
        "g++ -x c -c k.cpp",
        "g++ --version",
    ],
)
def test_other_commands_are_the_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cpp").write_text(KERNEL)
    assert compilation(line.split()) is None
    monkeypatch.setattr(compile_tool, "_compiler", lambda words: 77)
    assert compile_tool.main(line.split()) == 77
