"""Every row of the kernel table has a recorded reader, and plans that use it ask for that reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ascend_ep.plan.plan import Insn, Ref
from ascend_ep.plan.writing.reader_version import kernel_reader
from ascend_ep.runtime._rt import lib

RECORD = Path(__file__).parent / "kernel_readers.txt"
TABLE = Path(__file__).parents[2] / "native" / "kernels" / "table.inc"
ROW = re.compile(r'^ASC_KERNEL\w*\("(\w+)", "([^"]*)"', re.MULTILINE)
LETTERS = {
    "f": 1, "u": 2, "c": 3, "S": 4, "s": 5, "i": 6, "l": 7, "?": 9, "h": 10, "d": 11, "I": 12, "L": 13, 
    "b": 16, "*": 1,
}  # fmt: skip


def recorded() -> dict[tuple[str, str], int]:
    lines = [line.split() for line in RECORD.read_text().splitlines() if not line.startswith("#")]
    return {(kernel, types): int(reader) for kernel, types, reader in lines}


def rows() -> list[tuple[str, str]]:
    return ROW.findall(TABLE.read_text())


def refs(types: str) -> tuple[Ref, ...]:
    return tuple(Ref("", LETTERS[t], (1, 1, 1, 1)) for t in re.sub(r"[~+]", "", types))


def test_every_row_is_recorded() -> None:
    assert rows(), "the table is written otherwise"
    new, gone = set(rows()) - set(recorded()), set(recorded()) - set(rows())
    assert not new, (
        f"{sorted(new)} are new: name the first reader that has them in plan/writing/reader_version.py, and "
        f"here in {RECORD.name}"
    )
    assert not gone, f"{sorted(gone)} are in {RECORD.name} only: bundles of older trees may still call them"


@pytest.mark.parametrize(
    ("row", "reader"),
    recorded().items(),
    ids=lambda x: ":".join(map(str, x))[:60] if isinstance(x, tuple) else x,
)
def test_a_call_asks_for_the_recorded_reader(row: tuple[str, str], reader: int) -> None:
    kernel, types = row
    ins, outs = types.split(":")
    insn = Insn("", kernel, refs(ins), refs(outs), ints=(0,) * 32)
    assert kernel_reader(insn) == reader
    assert reader <= lib.ASC_READER_VERSION
