"""tools/run_acl_programs says why a program failed, and finds what it imports elsewhere in its repository."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("PIL")
pytest.importorskip("onnxruntime")
sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from acl_programs import modules, trial
from acl_programs.programs import Program

REASONS = [
    ("", 7, "status 7"),
    ("loads\n[ERROR] no model\nends", 0, "[ERROR] no model"),
    ("begins", -11, "ended by SIGSEGV"),
    ("[ERROR] lost", 139, "[ERROR] lost; ended by SIGSEGV"),
    ("x\nTraceback (most recent call last):\n  File 1\nKeyError: 'a'\n[INFO] bye", 1, "KeyError: 'a'"),
    ("usage: x\nrun.py: error: the following arguments are required: --om", 2, "the following arguments"),
]


@pytest.mark.parametrize(("text", "status", "reason"), REASONS)
def test_a_reason(text: str, status: int, reason: str) -> None:
    assert trial._first_failure(text, status).startswith(reason)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    """Those that the program made afterwards, modules and folders are none."""
    root, record = tmp_path / "program", tmp_path / "program" / "recorded"
    (root / "out").mkdir(parents=True)
    (root / "out" / "made.bin").touch()
    noted = ["a.mp4", "../a.mp4", "out/made.bin", "__pycache__/x.pyc", "folder", "b.om", "c.om", "d.om"]
    Path(f"{record}.missing").write_text("\n".join(noted))
    assert trial.missing_files(root, record) == "; not there: a.mp4, b.om, c.om and more"


def test_modules_elsewhere(tmp_path: Path) -> None:
    """The nearest of two and what that imports; nothing for what is installed, or beside the program."""
    for name, text in (
        ("one/sample/src/run.py", "import json\nimport beside\nfrom lite_model import Model\n"),
        ("one/sample/src/beside.py", ""),
        ("one/common/lite_model.py", "import lite_codes"),
        ("two/common/lite_model.py", ""),
        ("two/codes/lite_codes.py", ""),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    root = tmp_path / "one" / "sample"
    found = modules.folders(Program(root, root / "src", root / "src" / "run.py"), tmp_path)
    assert found == [tmp_path / "one" / "common", tmp_path / "two" / "codes"]
