"""Operators lowered to several kernels, against onnx.reference; with fixed and with free dims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from single_node import run_node

RANDOM = np.random.default_rng(29)
X = RANDOM.standard_normal((2, 7, 9, 6)).astype(np.float32)
THETA = RANDOM.standard_normal((2, 2, 3)).astype(np.float32)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "opset"),
    [
        ("LpPool", [X], {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "p": 3}, 18),
        ("LpPool", [X], {"kernel_shape": [2, 3], "auto_pad": "SAME_LOWER", "p": 1}, 18),
        ("Hardmax", [X], {}, 13),
        ("Hardmax", [np.round(X)], {"axis": 1}, 13),
        ("EyeLike", [X[0, 0]], {"k": -2}, 9),
        ("EyeLike", [X[0, 0]], {"k": 3, "dtype": 7}, 9),
    ],
)
def test_against_the_reference(
    op: str, inputs: list[np.ndarray], attrs: dict[str, Any], opset: int, symbolic: bool
) -> None:
    run_node(op, inputs, attrs, opset=opset, symbolic=symbolic)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("shape", [(3, 0, 5), (0, 3, 5), (3, 5, 0)])
@pytest.mark.parametrize(("axis", "opset"), [(1, 13), (2, 13), (0, 11), (2, 11)])
def test_the_largest_of_nothing(axis: int, opset: int, shape: tuple[int, ...], symbolic: bool) -> None:
    run_node("Hardmax", [np.zeros(shape, np.float32)], {"axis": axis}, opset=opset, symbolic=symbolic)


@pytest.mark.parametrize("align", [0, 1])
def test_sizes_known_at_conversion(align: int) -> None:
    run_node("AffineGrid", [THETA, np.array([2, 1, 5, 4])], {"align_corners": align}, opset=20, known=[1])
    theta = RANDOM.standard_normal((1, 3, 4)).astype(np.float32)
    run_node("AffineGrid", [theta, np.array([1, 1, 2, 3, 4])], {"align_corners": align}, opset=20, known=[1])
    run_node("CenterCropPad", [X, np.array([4, 3 + align])], {"axes": [-1, 1]}, opset=18, known=[1])


def test_unpooling() -> None:
    x = np.array([[[[5, 6], [7, 8]]]], np.float32)
    indices = np.array([[[[5, 7], [13, 15]]]])
    (y,) = run_node("MaxUnpool", [x, indices], {"kernel_shape": [2, 2], "strides": [2, 2]}, opset=11)
    assert y.reshape(-1)[[5, 7, 13, 15]].tolist() == [5, 6, 7, 8]
    assert np.count_nonzero(y) == 4
