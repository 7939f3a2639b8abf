"""Element types have one table: its names are the other projects', and no other file repeats its numbers."""

from __future__ import annotations

import ast
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

from ascend_ep.element_types import ELEMENT_TYPES, numpy_dtype

PACKAGE = Path(__file__).parents[2] / "ascend_ep"
TABLE = "element_types.py"
#: What other files call the numbers of types.
NAMES = {row.name.upper() for row in ELEMENT_TYPES.values()} | {"FLOAT", "DOUBLE"}


def repeated(source: str) -> list[str]:
    """The names of element types to which a module gives numbers."""
    found = []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign):
            continue
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        numbers = [v for v in values if isinstance(v, ast.Constant) and isinstance(v.value, int)]
        names = [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        found += [name for name in names if name in NAMES and numbers]
    return found


def test_numbers_are_given_once() -> None:
    files = {p.relative_to(PACKAGE).as_posix(): p for p in PACKAGE.rglob("*.py")}
    found = {name for name, path in files.items() if repeated(path.read_text(encoding="utf-8"))}
    assert found == {TABLE}


def test_a_repeated_number_is_found() -> None:
    assert repeated("import x\nFLOAT, INT8 = 1, 3\n") == ["FLOAT", "INT8"]
    assert repeated("FLOAT = ELEMENT_TYPES\nSIZE = 3\n") == []


@pytest.mark.parametrize("row", ELEMENT_TYPES.values(), ids=lambda row: row.name)
def test_a_row_is_true(row) -> None:
    assert onnx.TensorProto.DataType.Name(row.number).lower() == {
        "float32": "float",
        "float64": "double",
    }.get(row.name, row.name)
    if row.array:
        dtype = numpy_dtype(row.number)
        assert dtype == np.dtype(row.array if row.is_numpy else getattr(ml_dtypes, row.array))
        assert row.bits in (0, 2, 4) or dtype.itemsize * 8 == row.bits
