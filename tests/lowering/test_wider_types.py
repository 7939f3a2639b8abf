"""Kernels on element types they have no row for: computed wider, rounded once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from single_node import run_node

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

RANDOM = np.random.default_rng(6)
X = RANDOM.standard_normal((3, 4, 6)).astype(np.float32)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "ReduceMean", "ReduceL2", "LpNormalization"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(op: str, dtype: type) -> None:
    """The result is that of float32, rounded: no step between is."""
    narrow = X.astype(dtype)
    (wanted,) = run_node(op, [narrow.astype(np.float32)], opset=18)
    (y,) = run_node(op, [narrow], opset=18, rtol=0.02, atol=0.02)
    np.testing.assert_array_equal(y, wanted.astype(dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.bool_])
def test_narrow_integers(dtype: type) -> None:
    x = RANDOM.integers(0, 2, (3, 40)) if dtype is np.bool_ else RANDOM.integers(0, 100, (3, 40))
    x = x.astype(dtype)
    run_node("ReduceMax", [x, np.array([1])], known=[1], opset=20)
    if dtype in (np.int8, np.uint8):
        run_node("ArgMin", [x], {"axis": 1})


def test_sums_wrap_in_the_narrow_type() -> None:
    x = np.full((2, 300), 3, np.uint32) * np.uint32(2**30)
    (y,) = run_node("ReduceSum", [x], {"keepdims": 0})
    np.testing.assert_array_equal(y, x.sum(1, dtype=np.uint32))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.bool_])
def test_the_extremes_of_nothing_are_those_of_the_type(dtype: type) -> None:
    limits = (False, True) if dtype is np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    empty = np.zeros((2, 0), dtype)
    for op, wanted in zip(("ReduceMax", "ReduceMin"), limits, strict=True):
        try:
            (y,) = run_node(op, [empty, np.array([1])], known=[1], opset=20)
        except ValueError:  # the reference has no minimum of nothing
            continue
        assert (y == wanted).all()


SCATTERED = [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64, np.bool_, np.float16]


@pytest.mark.parametrize("dtype", SCATTERED)
@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
def test_scatter_combines_every_type(dtype: type, reduction: str) -> None:
    """Duplicate indices among them; integers wrap, bools are or and and."""
    high = 2 if dtype is np.bool_ else 200 if dtype is np.uint8 else 100
    data, updates = (RANDOM.integers(0, high, n).astype(dtype) for n in (6, 5))
    given = [data, np.array([1, 5, 1, -2, 0]), updates]
    combine = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[reduction]
    want = data.astype(np.float32) if dtype is np.float16 else data.copy()
    with np.errstate(over="ignore"):
        combine.at(want, given[1], updates.astype(want.dtype))
    node = helper.make_node("ScatterElements", ["d", "i", "u"], ["y"], reduction=reduction)
    types = [helper.np_dtype_to_tensor_dtype(a.dtype) for a in given]
    named = zip("diu", types, given, strict=True)
    infos = [helper.make_tensor_value_info(n, t, a.shape) for n, t, a in named]
    result = helper.make_tensor_value_info("y", types[0], data.shape)
    model = helper.make_model(helper.make_graph([node], "scatter", infos, [result]), ir_version=10)
    model.opset_import[0].version = 18
    conversion = convert(model, ConvertOptions(passes=False, sample_seed=None))
    assert conversion.partition_table[0].target == "AscendEP"
    (y,) = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, dict(zip("diu", given, strict=True)))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(y, want.astype(dtype))


def test_uint64_beyond_int64() -> None:
    """Quotients and remainders of every pair of hard numbers; the reference's own unsigned arithmetic."""
    hard = np.array([0, 1, 2, 3, 10, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1], np.uint64)
    x, y = hard[:, None], hard[None, 1:]
    run_node("Div", [x, y])
    run_node("Mod", [x, y])
    run_node("Mod", [x, y], {"fmod": 1}, rtol=0)
    run_node("Abs", [hard])
    run_node("Sign", [hard])
