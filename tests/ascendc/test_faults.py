"""Each kind of fault is named with the line that it is at, and the same kernel mended has none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kernel_launch import COMPILER, CUBE, VECTOR, KernelFault, Program

from ascend_ep.codegen.header_text import HEADERS

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")


def faults(program: str) -> list[tuple[str, int, str, frozenset[str], int]]:
    """(program, number, kind, words of the launch, line of the statement below the comment) of kernels."""
    return [
        (program, int(found[1]), found[2], frozenset(found[3].split(", ")[1:]), line + 1)
        for line, text in enumerate((HERE / f"{program}.cpp").read_text().splitlines(), 1)
        if (found := re.fullmatch(r" *// (\d+) ((?:Error|Advice)\w+)((?:, \w[\w ]*)*)", text))
    ]


FAULTS = [f for path in sorted(HERE.glob("faulty_*.cpp")) for f in faults(path.stem)]


@pytest.mark.parametrize(
    ("program", "number", "kind", "words", "line"),
    FAULTS,
    ids=[f"{k}-{p[7:]}-{n}" for p, n, k, _, _ in FAULTS],
)
def test_fault(
    launched: Callable[[str], Program],
    program: str,
    number: int,
    kind: str,
    words: frozenset[str],
    line: int,
) -> None:
    assert words <= {"strict", "whole", "cube", "2 cores"}
    x, wide, y = np.ones(1024, np.float16), np.ones(4096, np.float16), np.zeros(1024, np.float16)

    def launch(mended: bool) -> None:
        launched(program)(
            [number, mended, "strict" in words, "whole" in words],
            [x, wide],
            [y, y],
            cores=2 if "2 cores" in words else 1,
            kind=CUBE if "cube" in words else VECTOR,
        )

    with pytest.raises(KernelFault, match=rf"\[{kind}\]") as caught:
        launch(False)
    assert caught.value.line == line, str(caught.value)
    launch(True)


def test_each_kind_has_kernels() -> None:
    """Each kind of error that our headers name, in several ways."""
    headers = (path.read_text() for path in (HEADERS / "ascendc").rglob("*.h"))
    named = {kind for text in headers for kind in re.findall(r'"(Error[A-Z]\w*)"', text)}
    ways = Counter(kind for _, _, kind, _, _ in FAULTS)
    assert len(named) >= 25
    assert {kind: ways[kind] for kind in named if ways[kind] < 3} == {}
