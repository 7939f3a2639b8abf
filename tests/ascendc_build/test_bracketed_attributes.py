"""Kernels whose functions have attributes of the device's compiler in brackets compile as they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.attributes import without_bracketed
from ascend_ep.opbuild.ascendc.cpp import Unit, linked

HEADER = """
#define DEVICE inline __attribute__((always_inline)) [aicore]
#define BOTH inline [host, aicore]
template <unsigned to, typename T>
DEVICE constexpr T round_up(const T &value) { return (value + to - 1) / to * to; }
BOTH int twice(int x) { return 2 * x; }
[block_local] inline int own = 3;
"""


def unit(folder: Path, body: str) -> Unit:
    (folder / "device.h").write_text(HEADER)
    text = f'#include "device.h"\nint main() {{\n{body}\n}}\n'
    return Unit("one", text, folders=(folder,))


def test_functions_with_them_run(tmp_path: Path) -> None:
    body = "int t[4] = {}; t[own] = 32; return round_up<16>(17) + twice(own) == t[3] + 6 ? 0 : 1;"
    program = linked([unit(tmp_path, body)], "run", tmp_path)
    assert subprocess.run([program], check=False).returncode == 0


def test_an_error_has_its_line(tmp_path: Path) -> None:
    with pytest.raises(AscendError, match=r"one\.cpp:3:.*no_such_name"):
        linked([unit(tmp_path, "return no_such_name;")], "run", tmp_path)


def test_indices_and_the_standards_attributes_stay() -> None:
    text = "[[maybe_unused]] int x = table[host] + table[aicore_id]; auto f = [host] { return host; };"
    assert without_bracketed(text) == text
