"""tools/acl_names shows what programs call that the headers and pyACL lack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCE = """// aclrtCommented();
static int aclOwn(int x) { return x; }
int main() { aclInit(0); aclOwn(1); aclrtPlanted(0); hi_mpi_planted(); puts("aclrtQuoted()"); }
void f() { EXEC_NPU_CMD(aclnnAdd, x); EXEC_NPU_NO_FORMAT_CHECK_CMD(
    aclnnPlanted, x); }
"""
SCRIPT = """import acl
acl.init()
acl.rt.planted(0)
"""


def test_planted_names_are_shown_with_their_files(tmp_path: Path) -> None:
    sources = {"one.cpp": SOURCE, "two.cpp": "int f() { return aclrtPlanted(1); }", "a.py": SCRIPT}
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    # As tools/acl_names starts it, but for the package, which is the one that these tests import.
    command = [sys.executable, "-P", "-m", "acl_programs.names", str(tmp_path)]
    paths = [str(ROOT / "tools"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=environment)
    shown = done.stdout
    rows = [line.split() for line in shown.splitlines()]
    assert rows == [
        ["2", "aclrtPlanted", "one.cpp"],
        ["1", "acl.rt.planted", "a.py"],
        ["1", "aclnnPlanted", "one.cpp"],
        ["1", "hi_mpi_planted", "one.cpp"],
        ["4", "names", "are", "lacking"],
    ]
