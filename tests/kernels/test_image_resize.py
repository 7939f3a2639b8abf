"""Resize: one axis at a time against the linear map that onnx.reference gives for the unit vectors.

Tolerance: the weights are float32, of at most a few roundings each: 2e-6 of the largest magnitude.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ascend_ep.compiler.lower.image_resize import COORDINATES, MODES, ROUNDINGS

rng = np.random.default_rng(5)
NOT_AS_DECLARED = 13
PLAIN = [0.0, 0.0, 1.0, -0.75, 0.0]  # the scale is the quotient of the lengths


@cache
def matrix(n: int, m: int, **attrs: Any) -> np.ndarray:
    """[m, n] in float64: what onnx.reference makes of the unit vectors."""
    node = helper.make_node("Resize", ["x", "roi", "", "sizes"], ["y"], **attrs, axes=[0])
    infos = [
        helper.make_tensor_value_info("x", 1, [n, n]),
        helper.make_tensor_value_info("roi", 1, [2]),
        helper.make_tensor_value_info("sizes", 7, [1]),
    ]
    y = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], "g", infos, [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    feeds = {"x": np.eye(n, dtype=np.float32), "roi": np.array([0, 1], np.float32), "sizes": np.array([m])}
    return np.asarray(ReferenceEvaluator(model).run(None, feeds)[0], np.float64)


def resized(x: np.ndarray, axis: int, m: int, ints: list[int], **more: Any) -> np.ndarray:
    shape = [*x.shape[:axis], m, *x.shape[axis + 1 :]]
    op = "resize" if ints[0] else "resize_nearest"
    given = [x, *more.pop("data", [])]
    (y,) = call(op, given, [(x.dtype, shape)], [axis, *ints, 0], more.pop("floats", PLAIN), **more)
    return y


@each_isa
@pytest.mark.parametrize(("n", "m"), [(7, 19), (13, 5)])
@pytest.mark.parametrize(
    ("mode", "coordinate", "antialias", "exclude"),
    [(1, 0, 0, 0), (1, 0, 1, 0), (1, 3, 0, 0), (2, 0, 0, 1), (2, 0, 1, 0), (2, 2, 0, 0), (2, 4, 0, 0)],
)
def test_blending(isa: int, n: int, m: int, mode: int, coordinate: int, antialias: int, exclude: int) -> None:
    weights = matrix(
        n, m, mode=[*MODES][mode], coordinate_transformation_mode=[*COORDINATES][coordinate],
        antialias=antialias, exclude_outside=exclude,
    )  # fmt: skip
    for shape, axis in [((2, n, 37), 1), ((3, 2, n), 2), ((n, 3), 0)]:
        x = rng.standard_normal(shape).astype(np.float32)
        want = np.moveaxis(np.tensordot(weights, x.astype(np.float64), (1, axis)), 0, axis)
        got = resized(x, axis, m, [mode, coordinate, 0, antialias, exclude], isa=isa)
        np.testing.assert_allclose(
            got, want, rtol=0, atol=2e-6 * np.abs(x).max() * np.abs(weights).sum(1).max()
        )


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64])
@pytest.mark.parametrize("rounding", range(4))
@pytest.mark.parametrize(("n", "m"), [(6, 9), (10, 4)])
def test_nearest_is_exact(dtype: type, rounding: int, n: int, m: int) -> None:
    weights = matrix(n, m, mode="nearest", nearest_mode=[*ROUNDINGS][rounding])
    x = rng.integers(0, 100, (2, n, 5)).astype(dtype)
    for axis, source in ((1, x), (2, np.ascontiguousarray(x.swapaxes(1, 2)))):
        want = np.take(source, weights.argmax(axis=1), axis)
        np.testing.assert_array_equal(resized(source, axis, m, [0, 0, rounding, 0, 0]), want)


def test_outside_the_region_is_the_extrapolation_value() -> None:
    x = np.arange(5, dtype=np.float32)
    floats = [0.0, -0.5, 1.5, -0.75, 99.0]  # coordinates -2, 0, 2, 4, 6
    for mode in range(3):
        for shape, axis in (((1, 5), 1), ((5, 1), 0)):
            y = resized(x.reshape(shape), axis, 5, [mode, 6, 0, 0, 0], floats=floats)
            np.testing.assert_array_equal(y.reshape(-1), [99, 0, 2, 4, 99])


def test_nan_and_infinity_stay_where_they_weigh() -> None:
    x = np.array([[1, np.nan, 2, 3, np.inf, 4, 5]], np.float32)
    y = resized(x, 1, 7, [1, 4, 0, 0, 0])
    assert np.isnan(y[0, 1])
    assert np.isfinite(y[0, [2, 5, 6]]).all()


def test_threads_and_empty_tensors() -> None:
    x = rng.standard_normal((64, 31, 33)).astype(np.float32)
    one, three = (resized(x, 1, 67, [1, 0, 0, 0, 0], threads=t) for t in (1, 3))
    np.testing.assert_array_equal(one, three)
    assert resized(x[:0], 1, 5, [1, 0, 0, 0, 0]).shape == (0, 5, 33)
    assert resized(x, 1, 0, [0, 0, 0, 0, 0]).shape == (64, 0, 33)


@pytest.mark.parametrize(
    ("ints", "floats"),
    [
        ([3, 1, 0, 0, 0, 0, 0], PLAIN),
        ([1, 3, 0, 0, 0, 0, 0], PLAIN),
        ([1, 1, 7, 0, 0, 0, 0], PLAIN),
        ([1, 1, 0, 5, 0, 0, 0], PLAIN),
        ([1, 0, 0, 0, 0, 0, 0], PLAIN),
        ([0, 1, 0, 0, 0, 0, 0], PLAIN),
        ([1, 1, 0, 0, 0, 0], PLAIN),
        ([1, 1, 0, 0, 0, 0, 0], [-1.0, 0, 1, 0, 0]),
        ([1, 1, 0, 0, 0, 0, 0], [np.nan, 0, 1, 0, 0]),
        ([1, 1, 0, 0, 1, 0, 0], [1e-30, 0, 1, 0, 0]),
        ([1, 1, 0, 0, 0, 0, 0], PLAIN[:4]),
    ],
)
def test_what_does_not_fit_is_refused(ints: list[int], floats: list[float]) -> None:
    x = np.zeros((2, 3, 4), np.float32)
    with pytest.raises(KernelError, match="resize"):
        call("resize", [x], [(np.float32, (2, 6, 4))], ints, floats)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_scales_and_regions_that_come_with_the_data(mode: int) -> None:
    x = rng.standard_normal((2, 6, 5)).astype(np.float32)
    scales = np.array([1.6], np.float32)
    want = resized(x, 1, 9, [mode, 0, 0, 1, 0], floats=[1.6, *PLAIN[1:]])
    np.testing.assert_array_equal(resized(x, 1, 9, [mode, 0, 0, 1, 0], data=[scales]), want)
    want = resized(x, 1, 9, [mode, 6, 0, 0, 0], floats=[0.0, 0.2, 0.9, *PLAIN[3:]])
    region = np.array([0.2, 0.9], np.float32)
    np.testing.assert_array_equal(resized(x, 1, 9, [mode, 6, 0, 0, 0], data=[None, region]), want)
    for bad in (1.0, 1.9, -1.0, np.nan, np.inf):
        with pytest.raises(KernelError, match="scale 0 takes an axis of length 6") as error:
            resized(x, 1, 9, [mode, 0, 0, 1, 0], data=[np.array([bad], np.float32)])
        assert error.value.code == NOT_AS_DECLARED
    with pytest.raises(KernelError, match="no scale for the axis"):
        resized(x, 1, 9, [mode, 0, 0, 0, 0], data=[scales[:0]])
    with pytest.raises(KernelError, match="no region for the axis"):
        resized(x, 1, 9, [mode, 6, 0, 0, 0], data=[None, region[:1]])


@pytest.mark.parametrize("floats", [[1e-30, 0, 1, 0, 0], [1e30, 0, 1, 0, 0], [1.0, -1e38, 1e38, 1e38, 0]])
@pytest.mark.parametrize("coordinate", range(7))
def test_any_scale_stays_inside(floats: list[float], coordinate: int) -> None:
    x = np.zeros((2, 3, 4), np.float32)
    for mode in range(3):
        resized(x, 1, 6, [mode, coordinate, 0, 0, 1], floats=floats)
