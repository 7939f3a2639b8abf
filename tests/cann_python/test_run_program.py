"""`ascend-ep run`: programs as they would run alone, with the modules that Ascend programs import."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import acl_bundles
import pytest

from ascend_ep.cli.ep import main
from ascend_ep.cli.run_program import environment
from ascend_ep.cli.toolkit import MODULES


def test_a_program_runs_as_it_does_alone(tmp_path: Path) -> None:
    bundle = acl_bundles.make(tmp_path, "static")["static"]
    (tmp_path / "prog.py").write_text(
        "import sys, aclruntime\nfrom ais_bench.infer.interface import InferSession, MemorySummary\n"
        "from ais_bench.infer.summary import summary\n"
        "print(sys.argv, __name__, int(aclruntime.float16))\n"
        f"print(InferSession(0, {bundle!r}).get_outputs()[0].name)\nsys.exit(3)\n"
    )
    ended = acl_bundles.run(tmp_path, "prog.py", "-m", "x", "--help")
    assert ended.returncode == 3, ended.stderr
    assert "['prog.py', '-m', 'x', '--help'] __main__ 1" in ended.stdout
    assert ended.stdout.endswith("y\n")


def test_tracebacks_are_those_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("def fails():\n    return 1 / 0\n\nfails()\n")
    ended = acl_bundles.run(tmp_path, "prog.py")
    assert ended.returncode == 1
    assert ended.stderr.startswith("Traceback (most recent call last):\n  File ")
    assert "run_program" not in ended.stderr


def test_commands_and_what_they_start(tmp_path: Path) -> None:
    (tmp_path / "bench.sh").write_text("python3 -m ais_bench --help | head -1\nexit 5\n")
    ended = acl_bundles.run(tmp_path, "bash", "bench.sh")
    assert (ended.returncode, ended.stdout.startswith("usage: ais_bench")) == (5, True)
    (tmp_path / "prog").write_text("#!/bin/sh\necho $1\n")
    ended = acl_bundles.run(tmp_path, "./prog", "-x")
    assert (ended.returncode, "chmod +x ./prog" in ended.stderr) == (1, True)
    (tmp_path / "prog").chmod(0o755)
    assert acl_bundles.run(tmp_path, "./prog", "-x").stdout == "-x\n"


def test_what_a_toolkit_has_is_there(tmp_path: Path) -> None:
    """Commands by their real names, the library where the loader looks, variables that build files read."""
    (tmp_path / "all.sh").write_text(
        "msame --help | head -1; benchmark.x86_64 --help | head -1; atc --help | head -1\n"
        "ls $ASCEND_HOME_PATH/python/site-packages\n"
        "python3 -c 'import ctypes; ctypes.CDLL(\"libascendcl.so\")'\n"
    )
    ended = acl_bundles.run(tmp_path, "bash", "all.sh")
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert [lines[0][:12], lines[1][:23]] == ["usage: msame", "usage: benchmark.x86_64"]
    assert {"acl.py", "aclruntime.py", "ais_bench"} <= set(lines)


def test_nothing_changes_elsewhere() -> None:
    """Neither this process, nor anything without `ascend-ep run`, sees the modules."""
    assert importlib.util.find_spec("ais_bench") is None
    made = environment({"PYTHONPATH": "/mine", "PATH": "/bin"})
    assert made["PYTHONPATH"].split(":") == [str(MODULES), "/mine"]
    assert made["PATH"].endswith(":/bin")
    assert environment(made) == made


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "E45002"),
        (["-m"], "E45002"),
        (["none.py"], "E10410"),
        (["./none"], "E10410"),
        (["no-such-command"], "E10410"),
    ],
)
def test_there_must_be_a_program(capsys: pytest.CaptureFixture[str], words: list[str], expected: str) -> None:
    assert main(["run", *words]) == 1
    assert expected in capsys.readouterr().err


def test_installed_modules_go_before_ours(tmp_path: Path) -> None:
    """A wheel of the real aclruntime, and its ais_bench, are what runs where they are installed."""
    package = tmp_path / "ais_bench"
    package.mkdir()
    (tmp_path / "aclruntime.py").write_text("REAL = 'the real one'\n")
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("import aclruntime\nprint('bench of', aclruntime.REAL)\n")
    given = {**os.environ, "PYTHONPATH": os.pathsep.join([str(MODULES), str(tmp_path)])}
    for program in (["-m", "ais_bench"], ["-c", "import ais_bench.__main__"]):
        done = subprocess.run(
            [sys.executable, *program], env=given, capture_output=True, text=True, check=False
        )
        assert done.stdout == "bench of the real one\n", done.stderr
