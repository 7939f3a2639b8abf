"""`ascend-ep run`: a program with acl, ais_bench and aclruntime importable, in place of this process."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ascend_ep import cann
from ascend_ep.errors import AscendError

USAGE = """usage: ascend-ep run [-m MODULE | PROGRAM] [ARGUMENTS ...]

Runs a Python program, module, or any other command with the modules acl, ais_bench and aclruntime importable,
for it and the commands that it starts; elsewhere nothing changes.

  ascend-ep run prog.py --its-flag
  ascend-ep run -m ais_bench --model m.om --loop 10
  ascend-ep run bash benchmark.sh"""

#: The folder that holds the importable modules.
MODULES = Path(cann.__file__).parent / "python"


def run_program(words: Sequence[str]) -> int:
    """Becomes the program; returns only for --help. Raises AscendError E10410, E40002 or E45002 for none."""
    if words and words[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    command = _command(words)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(command[0], command, environment(os.environ))
    except OSError as error:
        raise AscendError("E40002", f"can't run [{command[0]}]: {error.strerror}") from None


def _command(words: Sequence[str]) -> list[str]:
    if not words or (words[0] == "-m" and len(words) == 1):
        raise AscendError(
            "E45002", "there is no program", fix="ascend-ep run prog.py, or ascend-ep run -m module"
        )
    first = words[0]
    if first == "-m":
        return [sys.executable, *words]
    if first.endswith(".py") or (Path(first).is_dir() and (Path(first) / "__main__.py").exists()):
        if not Path(first).exists():
            raise AscendError("E10410", first)
        return [sys.executable, *words]
    if os.sep in first or Path(first).is_file():
        if not Path(first).is_file():
            raise AscendError("E10410", first)
        return [os.path.join(".", first), *words[1:]]
    found = shutil.which(first, path=environment(os.environ)["PATH"])
    if found is None:
        raise AscendError("E10410", first)
    return [found, *words[1:]]


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """What a program needs: the modules first on PYTHONPATH, and this Python first on PATH."""
    made = dict(given)
    made["PYTHONPATH"] = _in_front([str(MODULES)], given.get("PYTHONPATH", ""))
    made["PATH"] = _in_front([str(Path(sys.executable).parent)], given.get("PATH", os.defpath))
    return made


def _in_front(folders: Sequence[str], path: str) -> str:
    rest = [p for p in path.split(os.pathsep) if p and p not in folders]
    return os.pathsep.join([*folders, *rest])
