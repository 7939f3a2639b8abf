"""Products in float64 and of integers, against numpy; doubles in normalisations; ONNX's function bodies."""

from __future__ import annotations

import numpy as np
import pytest
from single_node import run_node

RANDOM = np.random.default_rng(7)
TYPES = [np.float64, np.int32, np.int64, np.uint32, np.uint64]


def sample(dtype: type, *shape: int) -> np.ndarray:
    """Integers over their whole range, so that sums wrap."""
    if dtype is np.float64:
        return RANDOM.standard_normal(shape)
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("symbolic", [False, True])
def test_matmul(dtype: type, symbolic: bool) -> None:
    shapes = [((5, 7), (7, 33)), ((3, 1, 4, 9), (2, 9, 70)), ((9,), (9, 3)), ((2, 3, 9), (9,)), ((4,), (4,))]
    for left, right in shapes if not symbolic else shapes[:1]:
        a, c = sample(dtype, *left), sample(dtype, *right)
        (y,) = run_node("MatMul", [a, c], symbolic=symbolic, rtol=1e-12, atol=1e-12)
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(y, a @ c, rtol=1e-12, atol=1e-12)
    (y,) = run_node("MatMul", [sample(dtype, 3, 0), sample(dtype, 0, 4)])
    assert not y.any()


def test_gemm() -> None:
    a, c, d = sample(np.float64, 9, 5), sample(np.float64, 40, 9), sample(np.float64, 40)
    for attrs in ({"transA": 1, "transB": 1}, {"transA": 1, "transB": 1, "alpha": 0.5, "beta": -2.0}):
        run_node("Gemm", [a, c, d], attrs, rtol=1e-12, atol=1e-12)
    run_node("Gemm", [a, c], {"transA": 1, "transB": 1, "alpha": 3.0}, known=[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_einsum(dtype: type) -> None:
    a, c = sample(dtype, 2, 3, 4), sample(dtype, 2, 4, 5)
    for equation, given in [
        ("bij,bjk->bik", [a, c]),
        ("bij,bjk->ki", [a, c]),
        ("bij->j", [a]),
        ("bij,bij->b", [a, a]),
    ]:
        (y,) = run_node("Einsum", given, {"equation": equation}, rtol=1e-12, atol=1e-10)
        np.testing.assert_allclose(y, np.einsum(equation, *given), rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("Softmax", {"axis": 1}),
        ("LogSoftmax", {"axis": -1}),
        ("ReduceLogSumExp", {}),
        ("LayerNormalization", {}),
    ],
)
def test_doubles_by_function_bodies(op: str, attrs: dict[str, int]) -> None:
    """In float64: 1e-12 relative would fail after any step in float32."""
    x = sample(np.float64, 3, 4, 6)
    given = [x, sample(np.float64, 6)] if op == "LayerNormalization" else [x]
    rtol = 2e-6 if op == "LayerNormalization" else 1e-12  # its stash_type says float32
    run_node(op, given, attrs, rtol=rtol, atol=rtol)


def test_normalisations_of_doubles() -> None:
    x = sample(np.float64, 2, 3, 5)
    x[0, :, 2] = 0
    (y,) = run_node("LpNormalization", [np.abs(x) + 1], {"axis": 1, "p": 1}, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(y.sum(1), 1, rtol=1e-12)
    run_node("LpNormalization", [x], {"axis": -1, "p": 2}, rtol=1e-12, atol=1e-14)
    channels = [sample(np.float64, 3) for _ in range(3)]
    run_node("BatchNormalization", [x, *channels, np.abs(channels[0])], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batch_normalisation_in_training(dtype: type) -> None:
    x = sample(np.float64, 4, 3, 5, 6).astype(dtype)
    channels = [np.abs(sample(np.float64, 3)).astype(dtype) for _ in range(4)]
    attrs = {"training_mode": 1, "momentum": 0.7, "epsilon": 1e-3}
    run_node("BatchNormalization", [x, *channels], attrs, n_outputs=3, rtol=2e-5, atol=2e-6)
