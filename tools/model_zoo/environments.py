"""Environments in the cache, in which programs and trainers of others run.

Each sees this interpreter's packages, so that everything runs on one onnxruntime; what is needed besides is
installed into it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from model_zoo.packages import NotToBeHad

TOOLS = Path(__file__).resolve().parents[1]
#: Seconds that an installation may take.
PATIENCE = 1200


def environment(name: str, installs: Sequence[Sequence[str]], cache: Path) -> Path:
    """The interpreter of an environment, made where there is none. `installs` is what pip is given, in
    steps. Raises NotToBeHad."""
    folder = cache / "environments" / name
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    _call([sys.executable, "-m", "venv", str(folder)])
    (packages,) = (folder / "lib").glob("python*/site-packages")
    seen = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (packages / "of_this_interpreter.pth").write_text("\n".join(seen) + "\n")
    for given in installs:
        _call([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *given])
    (folder / "complete").touch()
    return python


def run_module(python: Path | str, module: str, *arguments: str, limit: float) -> str:
    """What a module of the tools prints. Raises RuntimeError with the last line of what it said."""
    paths = [str(TOOLS), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        done = subprocess.run(
            [str(python), "-P", "-m", module, *arguments],
            capture_output=True,
            text=True,
            timeout=limit,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"took more than {limit} s") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise RuntimeError(said[-1][:300])
    return done.stdout


def _call(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = str(error.stderr or error).strip().splitlines()
        raise NotToBeHad(f"{command[-1]}: {said[-1]}") from error
