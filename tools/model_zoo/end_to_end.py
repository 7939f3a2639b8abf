"""Whole programs of others with AscendEP put in, beside the same programs without it, each in an environment
of its own."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model_zoo.environments import environment, run_module

#: Seconds that a run may take.
LIMIT = 600
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
    python = environment(program.package, program.installs, cache)
    try:
        plain, ascend = (
            json.loads(run_module(python, "model_zoo.programs", program.name, how, limit=LIMIT))
            for how in ("plain", "ascend")
        )
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
