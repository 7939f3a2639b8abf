"""A compiler has its time on the CPU, however busy the machine is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc import cpp

ENDLESS = """
constexpr long counted() {
    long sum = 0;
    for (int i = 0; i < 20000; i++)
        for (int j = 0; j < 20000; j++) sum += i ^ j;
    return sum;
}
static_assert(counted() > 0);
"""


def test_a_compiler_that_computes_without_end_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpp, "SECONDS", 1)
    more = "-fconstexpr-ops-limit=2000000000"
    unit = cpp.Unit("endless", ENDLESS, flags=("-std=c++17", more))
    with pytest.raises(AscendError, match="more than 1 s of CPU time"):
        cpp.linked([unit], "run", tmp_path)
