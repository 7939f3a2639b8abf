"""Each kind of fault is named with the line that it is at, and the same kernel mended has none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kernel_launch import COMPILER, KernelFault, Program

SOURCE = Path(__file__).with_name("faulty_kernels.cpp")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")
#: (number, kind, line of the statement below the comment)
FAULTS = [
    (int(found[1]), found[2], line + 1)
    for line, text in enumerate(SOURCE.read_text().splitlines(), 1)
    if (found := re.fullmatch(r" *// (\d+) ((?:Error|Advice)\w+)", text))
]


@pytest.fixture(scope="module")
def kernels(launched: Callable[[str], Program]) -> Program:
    return launched("faulty_kernels")


def launch(kernels: Program, number: int, mended: bool) -> None:
    x = np.ones(1024, np.float16)
    y = np.zeros(1024, np.float16)
    wide = np.ones(4096, np.float16)
    kernels([number, mended], [x, wide], [y, y], cores=2 if 60 <= number < 70 else 1)


@pytest.mark.parametrize(("number", "kind", "line"), FAULTS, ids=[f"{k}-{n}" for n, k, _ in FAULTS])
def test_fault(kernels: Program, number: int, kind: str, line: int) -> None:
    with pytest.raises(KernelFault, match=rf"\[{kind}\]") as caught:
        launch(kernels, number, False)
    assert caught.value.line == line
    launch(kernels, number, True)
