"""One conversion through the command line, and the comparison with the reference."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from zoo import Feeds


@dataclass(frozen=True)
class Converted:
    """Files of one conversion, the inputs to try, and what ascend-atc printed."""

    onnx: Path
    om: Path
    context: Path
    feeds: list[Feeds]
    references: list[Feeds]
    printed: str


def atc(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """ascend-atc in a process of its own."""
    command = [sys.executable, "-m", "ascend_ep.cli.atc", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def assert_close(
    outputs: list[np.ndarray], names: list[str], reference: dict[str, np.ndarray], bound: float
) -> None:
    """Floats within `bound` of the largest magnitude of their tensor; everything else equal."""
    for name, output in zip(names, outputs, strict=True):
        expected = reference[name]
        assert output.shape == expected.shape, name
        if output.dtype.kind == "f":
            worst = np.abs(output - expected).max(initial=0.0) / np.abs(expected).max(initial=1e-30)
            assert worst < bound, f"{name}: {worst:.2e}"
        else:
            np.testing.assert_array_equal(output, expected, err_msg=name)
