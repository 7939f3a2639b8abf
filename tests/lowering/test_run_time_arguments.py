"""Operators whose axes, sizes and bounds come with the data, in models that declare the output's shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from single_node import run_node

from ascend_ep.errors import AscendError

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((3, 4, 5)).astype(np.float32)


def ints(*values: int, dtype: type = np.int64) -> np.ndarray:
    return np.array(values, dtype)


SCALAR = np.array(-2)
CASES: dict[str, tuple[str, list[np.ndarray | None], Mapping[str, Any], tuple[int, ...]]] = {
    "reduce": ("ReduceSum", [X, ints(-1, 0)], {}, (1, 4, 1)),
    "reduce, dropped": ("ReduceMean", [X, ints(1)], {"keepdims": 0}, (3, 5)),
    "reduce, all": ("ReduceMax", [X, ints()], {}, (1, 1, 1)),
    "reduce, none": ("ReduceL1", [X, ints()], {"noop_with_empty_axes": 1}, (3, 4, 5)),
    "reduce, halves": ("ReduceSum", [X.astype(np.float16), ints(2)], {}, (3, 4, 1)),
    "reduce, integers": ("ReduceL2", [(X * 9).astype(np.int32), ints(2)], {}, (3, 4, 1)),
    "slice": ("Slice", [X, ints(-4, 1), ints(99, 3), ints(2, 0)], {}, (2, 4, 4)),
    "slice, backwards": ("Slice", [X, ints(9), ints(-99), ints(1), ints(-2)], {}, (3, 2, 5)),
    "slice, int32": ("Slice", [X, ints(0, 1, dtype=np.int32), ints(2, 3, dtype=np.int32)], {}, (2, 2, 5)),
    "slice, nothing": ("Slice", [X, ints(3), ints(1), ints(1)], {}, (3, 0, 5)),
    "trilu": ("Trilu", [X, SCALAR], {}, X.shape),
    "trilu, lower": ("Trilu", [X, SCALAR], {"upper": 0}, X.shape),
    "cumsum": ("CumSum", [X, SCALAR], {"exclusive": 1, "reverse": 1}, X.shape),
    "cumsum, double": ("CumSum", [X.astype(np.float64), SCALAR], {}, X.shape),
    "pad": ("Pad", [X, ints(0, 1, 0, 2, 0, 3), np.array(7, np.float32)], {}, (5, 5, 8)),
    "pad, reflect": ("Pad", [X, ints(2, 0, 1, 1), None, ints(-1, 0)], {"mode": "reflect"}, (4, 4, 8)),
    "topk": ("TopK", [X, ints(2)], {"axis": 1}, (3, 2, 5)),
    "tile": ("Tile", [X, ints(2, 1, 3)], {}, (6, 4, 15)),
    "expand": ("Expand", [X[:, :1], ints(2, 1, 4, 5)], {}, (2, 3, 4, 5)),
    "reshape": ("Reshape", [X, ints(0, -1, 2, 5)], {}, (3, 2, 2, 5)),
    "constant of shape": ("ConstantOfShape", [ints(2, 3)], {}, (2, 3)),
    "crop and pad": ("CenterCropPad", [X, ints(6, 2)], {"axes": [0, -1]}, (6, 4, 2)),
    "col2im": ("Col2Im", [X[:1], ints(1, 4), ints(1, 2)], {"pads": [0, 1, 0, 1]}, (1, 2, 1, 4)),
    "affine grid": ("AffineGrid", [X[:, :2, :3], ints(3, 1, 2, 4)], {}, (3, 2, 4, 2)),
    "resize": ("Resize", [X, None, np.array([1, 2, 1.5], np.float32)], {"mode": "linear"}, (3, 8, 7)),
    "resize, sizes": ("Resize", [X, None, None, ints(7, 3)], {"mode": "cubic", "axes": [1, 2]}, (3, 7, 3)),
    "resize, in proportion": (
        "Resize",
        [X, None, None, ints(7, 7)],
        {"mode": "linear", "axes": [1, 2], "keep_aspect_ratio_policy": "not_larger"},
        (3, 6, 7),
    ),
    "one-hot": ("OneHot", [ints(1, -1), np.array(3), np.array([0, 1], np.float32)], {}, (2, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_arguments_of_the_run(name: str) -> None:
    op, given, attrs, shape = CASES[name]
    outputs = 1 + (op == "TopK")
    run_node(op, given, attrs, declared=[shape] * outputs, n_outputs=outputs, atol=1e-5)


#: data that make another shape than the declared, and what a warning says of it
OTHER: dict[str, tuple[str, list[np.ndarray | None], tuple[int, ...], str]] = {
    "another axis": ("ReduceSum", [X, ints(0)], (3, 1, 5), "dims are wrong"),
    "another axis, of nothing": ("ReduceSum", [X[:0], ints(1)], (0, 4, 1), "dims are wrong"),
    "another scale": (
        "Resize",
        [X, None, np.array([1, 2, 3], np.float32)],
        (3, 8, 10),
        "to another length than 10",
    ),
    "another size": ("AffineGrid", [X[:, :2, :3], ints(3, 1, 2, 4)], (3, 2, 5, 2), "is 4 where"),
    "a longer slice": (
        "Slice",
        [X, ints(0), ints(9)],
        (2, 4, 5),
        "3 elements where the model declares 2",
    ),
    "other pads": ("Pad", [X, ints(1, 0, 0, 0, 0, 0)], (5, 4, 5), "dims are wrong"),
    "pads of nothing": ("Pad", [X[:0], ints(1, 0, 0, 0, 0, 0)], (0, 4, 5), "dims are wrong"),
    "another k": ("TopK", [X, ints(3)], (3, 4, 2), "element 0 is 3 where the shapes of the model ask for 2"),
    "other repeats": ("Tile", [X, ints(1, 1, 2)], (6, 4, 5), "element 0 is 1"),
    "another shape": ("Reshape", [X, ints(5, 12)], (12, 5), "element 0 is 5"),
    "an axis that isn't expanded": ("Expand", [X[:1], ints(1, 4, 5)], (4, 4, 5), "element 0 is 1"),
    "another length": ("Range", [np.array(1), np.array(9), np.array(3)], (2,), "element 0 is 3"),
    "another place": ("Unsqueeze", [X, ints(0)], (3, 4, 1, 5), "element 0 is 0"),
    "other parts": ("Split", [X, ints(2, 1)], (1, 4, 5), "element 0 is 2"),
}


@pytest.mark.parametrize("name", OTHER)
def test_another_shape_than_declared(name: str) -> None:
    """The run is that of the plan made without what is declared."""
    op, given, shape, text = OTHER[name]
    second = (2, 4, 5) if op == "Split" else shape
    outputs = 1 + (op in ("TopK", "Split"))
    with pytest.warns(RuntimeWarning, match=f"{text}.*: declared shapes and names of dimensions don't count"):
        run_node(op, given, declared=[shape, second][:outputs], n_outputs=outputs)


WRONG: dict[str, tuple[str, list[np.ndarray | None], tuple[int, ...], str]] = {
    "no such axis": ("ReduceSum", [X, ints(3)], (3, 1, 5), "axis 3 is outside a rank of 3"),
    "an axis twice": ("Slice", [X, ints(0, 0), ints(2, 2), ints(0, -3)], (2, 4, 5), "axis -3 is given twice"),
    "a step of 0": ("Slice", [X, ints(0), ints(2), ints(0), ints(0)], (2, 4, 5), "a step is 0"),
    "no axis to sum": ("CumSum", [X, np.array(3)], X.shape, "index 3 is outside an axis of length 3"),
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_that_are_wrong_by_themselves(name: str) -> None:
    op, given, shape, text = WRONG[name]
    with pytest.raises(AscendError, match=text):
        run_node(op, given, declared=[shape])


def test_a_range_whose_ends_come_with_the_data() -> None:
    for ends, count in (((2, 11, 4), 3), ((7, 0, -3), 3), ((1, 1, 1), 0), ((5, 1, 1), 0)):
        run_node("Range", [np.array(v, np.int32) for v in ends], declared=[(count,)])
    run_node("Range", [np.array(v, np.float32) for v in (0.5, 2.1, 0.4)], declared=[(4,)])


def test_axes_of_one_that_come_with_the_data() -> None:
    for axes, shape in (((1,), (3, 1, 4, 5)), ((-1, 0), (1, 3, 4, 5, 1)), ((0, 1), (1, 1, 3, 4, 5))):
        run_node("Unsqueeze", [X, ints(*axes)], declared=[shape])
    for axes, shape in (((1,), (3, 1, 5)), ((-2, 1), (3, 5))):
        run_node("Squeeze", [X[:, :1].reshape(3, 1, 1, 5), ints(*axes)], declared=[shape])


def test_an_axis_twice_is_reduced_once() -> None:
    made = run_node("ReduceSum", [X, ints(1, -2)], declared=[(3, 1, 5)], reference=False)
    np.testing.assert_allclose(made[0], X.sum(1, keepdims=True), 1e-5, 1e-6)
