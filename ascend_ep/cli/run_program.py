"""`ascend-ep run`: a program with acl, ais_bench and aclruntime importable, in place of this process."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import ascend_ep
from ascend_ep import regular_file
from ascend_ep.cli import toolkit
from ascend_ep.errors import AscendError
from ascend_ep.runtime.cache_folder import open_cache

USAGE = """usage: ascend-ep run [-m MODULE | PROGRAM] [ARGUMENTS ...]

Runs a Python program, module, or any other command in the environment of a CANN toolkit that is ours: with
the modules acl, ais_bench and aclruntime importable, libascendcl where the loader looks, and commands such as
atc and msame on the path, for it and what it starts. Elsewhere nothing changes.

  ascend-ep run prog.py --its-flag
  ascend-ep run -m ais_bench --model m.om --loop 10
  ascend-ep run ./main
  ascend-ep run bash benchmark.sh"""


def run_program(words: Sequence[str]) -> int:
    """Becomes the program; returns only for --help. Raises AscendError E10410, E40002 or E45002 for none."""
    if words and words[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    made = environment(os.environ)
    command = _command(words, made["PATH"])
    settings = str(_toolkit() / "set_env.sh")
    sys.stdout.flush()
    sys.stderr.flush()
    # The toolkit's own file says what else a program finds there; then the shell becomes the program.
    script = 'path=$PATH modules=$PYTHONPATH; . "$0"; PATH=$path PYTHONPATH=$modules; exec "$@"'
    try:
        os.execve("/bin/sh", ["sh", "-c", script, settings, *command], made)
    except OSError as error:
        raise AscendError("E40002", f"can't run [{command[0]}]: {error.strerror}") from None


def _command(words: Sequence[str], path: str) -> list[str]:
    if not words or (words[0] == "-m" and len(words) == 1):
        raise AscendError(
            "E45002", "there is no program", fix="ascend-ep run prog.py, or ascend-ep run -m module"
        )
    first = words[0]
    if first == "-m":
        return [sys.executable, *words]
    if first.endswith(".py") or (Path(first) / "__main__.py").exists():
        if not Path(first).exists():
            raise AscendError("E10410", first)
        return [sys.executable, *words]
    if os.sep in first or Path(first).is_file():
        regular_file.need(first)
        if not os.access(first, os.X_OK):
            raise AscendError("E40002", f"can't run [{first}]: it isn't executable", fix=f"chmod +x {first}")
        return [os.path.join(".", first), *words[1:]]
    found = shutil.which(first, path=path)
    if found is None:
        raise regular_file.refusal(first)
    return [found, *words[1:]]


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """What a program needs: the modules on PYTHONPATH; this Python and the toolkit's commands on PATH."""
    made = dict(given)
    made["PYTHONPATH"] = _in_front([str(toolkit.MODULES)], given.get("PYTHONPATH", ""))
    folders = [str(Path(sys.executable).parent), str(_toolkit() / "bin")]
    made["PATH"] = _in_front(folders, given.get("PATH", os.defpath))
    return made


def _in_front(folders: Sequence[str], path: str) -> str:
    rest = [p for p in path.split(os.pathsep) if p and p not in folders]
    return os.pathsep.join([*folders, *rest])


def _toolkit() -> Path:
    """This installation's toolkit, in the cache; made when there is none. Raises AscendError E40002."""
    version = f"{ascend_ep.__version__} {Path(toolkit.__file__).stat().st_mtime_ns}"
    key = hashlib.sha256(f"{version} {toolkit.PACKAGE} {sys.executable}".encode()).hexdigest()[:16]
    folder = open_cache() / "toolkit" / key
    complete = folder / ".complete"
    if not complete.exists():
        folder.parent.mkdir(exist_ok=True)
        with open(folder.parent / f"{key}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several programs may start at once
            if not complete.exists():
                toolkit.make(folder)
                complete.touch()
    return folder
