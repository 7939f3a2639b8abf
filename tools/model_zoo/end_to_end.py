"""Whole programs of others with AscendEP put in, beside the same programs without it.

Each has an environment of its own in the cache, which sees this interpreter's packages, so that both runs
have one onnxruntime; what the program needs besides is installed into it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model_zoo.packages import NotToBeHad

TOOLS = Path(__file__).resolve().parents[1]
#: Seconds that an installation and a run may take.
PATIENCE, LIMIT = 1200, 600
#: Numbers of two runs: relative, and absolute for those near zero.
RELATIVE, ABSOLUTE = 1e-3, 1e-4


@dataclass(frozen=True)
class Program:
    """`name` is its function in programs.py; `installs` what pip is given, in steps."""

    name: str
    installs: tuple[tuple[str, ...], ...]

    @property
    def package(self) -> str:
        return self.installs[0][0]


HEADLESS = (
    "--force-reinstall",
    "--no-deps",
    "opencv-python-headless",
)  # cv2 that needs no display's libraries
PROGRAMS = [
    Program("ocr", (("rapidocr-onnxruntime==1.4.4",), HEADLESS)),
    Program("voice_activity", (("silero-vad==6.2.3",),)),
    Program("file_type", (("magika==1.0.3",),)),
    Program("layout", (("rapid-layout==1.2.1",), HEADLESS)),
    Program("speech_quality", (("speechmos==0.0.1.1", "librosa", "requests", "tqdm"),)),
]


def run_program(program: Program, cache: Path) -> list[str]:
    """What is wrong: nothing where both runs find the same and AscendEP took nodes. Raises NotToBeHad."""
    python = _environment(program, cache)
    try:
        plain, ascend = (_run(python, program.name, how) for how in ("plain", "ascend"))
    except RuntimeError as error:
        return [str(error)]
    wrong = differences(plain["found"], ascend["found"])
    if not plain["found"]:
        wrong.append("finds nothing")
    if not any(taken for taken, _ in ascend["taken"]):
        wrong.append("AscendEP took no node")
    return wrong


def differences(expected: Any, found: Any, where: str = "result") -> list[str]:
    """The places where two results differ, each with both."""
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        return [d for k in expected for d in differences(expected[k], found[k], f"{where}.{k}")]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [d for i, (e, f) in pairs for d in differences(e, f, f"{where}[{i}]")]
    if isinstance(expected, float) and isinstance(found, float):
        same = math.isclose(expected, found, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    else:
        same = type(expected) is type(found) and expected == found
    return [] if same else [f"{where}: {str(found)[:80]} with AscendEP, {str(expected)[:80]} without"]


def _run(python: Path, name: str, how: str) -> Any:
    paths = [str(TOOLS), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        done = subprocess.run(
            [python, "-P", "-m", "model_zoo.programs", name, how],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"{how}: took more than {LIMIT} s") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise RuntimeError(f"{how}: {said[-1][:300]}")
    return json.loads(done.stdout)


def _environment(program: Program, cache: Path) -> Path:
    """The interpreter of the program's environment, made where there is none. Raises NotToBeHad."""
    folder = cache / "environments" / program.package
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    _call([sys.executable, "-m", "venv", str(folder)])
    (packages,) = (folder / "lib").glob("python*/site-packages")
    seen = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (packages / "of_this_interpreter.pth").write_text("\n".join(seen) + "\n")
    for given in program.installs:
        _call([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *given])
    (folder / "complete").touch()
    return python


def _call(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = str(error.stderr or error).strip().splitlines()
        raise NotToBeHad(f"{command[-1]}: {said[-1]}") from error
