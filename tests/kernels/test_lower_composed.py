"""Operators lowered to several kernels, against onnxruntime where onnx.reference lacks or differs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lowered import check, run, view_of
from onnx import helper

X = np.random.default_rng(29).standard_normal((2, 7, 9, 6)).astype(np.float32)


@pytest.mark.parametrize(
    ("kernel", "op", "x", "attrs", "opset"),
    [
        ("lp_pool", "LpPool", X, {"kernel_shape": [2, 2], "strides": [2, 3], "ceil_mode": 1}, 18),
        ("lp_pool", "LpPool", X[..., 0], {"kernel_shape": [3], "dilations": [2], "pads": [2, 1]}, 18),
        ("global_lp_pool", "GlobalLpPool", X, {"p": 2}, 13),
        ("global_lp_pool", "GlobalLpPool", X, {"p": 3}, 13),
        ("lrn", "LRN", X, {"size": 5, "alpha": 0.5, "beta": 0.6, "bias": 1.5}, 13),
        ("lrn", "LRN", X, {"size": 3}, 13),
        ("hardmax", "Hardmax", X, {"axis": 2}, 11),
    ],
)
def test_as_onnxruntime(kernel: str, op: str, x: np.ndarray, attrs: dict[str, Any], opset: int) -> None:
    node = helper.make_node(op, ["x"], ["y"], **attrs)
    check(kernel, node, {"x": x}, opset, rtol=1e-5, atol=1e-6)


def test_even_sizes_reach_farther_forward() -> None:
    x = X.astype(np.float64)
    sums = np.stack([(x[:, max(c - 1, 0) : c + 3] ** 2).sum(axis=1) for c in range(7)], axis=1)
    node = helper.make_node("LRN", ["x"], ["y"], size=4, alpha=0.5)
    (y,) = run("lrn", view_of(node, {"x": X}, {"y": (1, X.shape)}, 13), {"x": X})
    np.testing.assert_allclose(y, x / (1 + 0.5 / 4 * sums) ** 0.75, rtol=1e-5, atol=1e-6)
