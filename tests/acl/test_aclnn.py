"""Operators of two phases against numpy: over types, shapes, strides and broadcasts, without torch_npu."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ascend_ep

from .operators import DTYPES, Device, Failed, Scalar, View, views, whole

Array = np.ndarray[Any, Any]
HEADER = Path(ascend_ep.__file__).parent / "include" / "aclnnop" / "operators.h"
FLOATS = ("float32", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int8", "uint8")
erf = np.vectorize(math.erf, otypes=[np.float64])


def some(shape: tuple[int, ...], dtype: str, seed: int = 0, least: float = -4) -> Array:
    values = np.random.default_rng(seed).uniform(least, 4, shape)
    if dtype == "bool":
        return values > 0
    return (values if dtype in (*FLOATS, "float64") else np.abs(np.round(values))).astype(DTYPES[dtype])


def close(got: Array, wanted: Array, name: str) -> None:
    tolerance = {"float16": 2e-3, "bfloat16": 1e-2}.get(got.dtype.name, 2e-6)
    wide = np.float64 if got.dtype.kind not in "iub" else got.dtype
    np.testing.assert_allclose(
        got.astype(wide), np.asarray(wanted).astype(wide), rtol=tolerance, atol=tolerance, err_msg=name
    )


BINARY: dict[str, tuple[Callable[[Array, Array], Array], str]] = {
    "Mul": (np.multiply, "fib"),
    "Maximum": (np.maximum, "fi"),
    "Minimum": (np.minimum, "fi"),
    "Div": (np.divide, "f"),
    "RemainderTensorTensor": (lambda a, b: a - np.floor(a / np.where(b == 0, 1, b)) * b, "f"),
    "EqTensor": (np.equal, "fib"),
    "NeTensor": (np.not_equal, "fib"),
    "LtTensor": (np.less, "fi"),
    "GeTensor": (np.greater_equal, "fi"),
    "LogicalAnd": (np.logical_and, "fib"),
    "LogicalXor": (np.logical_xor, "fib"),
    "BitwiseAndTensor": (np.bitwise_and, "ib"),
    "BitwiseXorTensor": (np.bitwise_xor, "ib"),
}  # fmt: skip
UNARY: dict[str, Callable[[Array], Array]] = {
    "Abs": np.abs,
    "Neg": np.negative,
    "Exp": np.exp,
    "Sin": np.sin,
    "Tanh": np.tanh,
    "Erf": erf,
    "Floor": np.floor,
    "Round": np.round,
    "Sign": np.sign,
    "Expm1": np.expm1,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Silu": lambda x: x / (1 + np.exp(-x)),
    "Relu": lambda x: np.maximum(x, 0),
    "Gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "Hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "Mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
}
SHAPES = (
    ((3, 5), (3, 5)),
    ((2, 3, 5), (5,)),
    ((4, 1), (1, 6)),
    ((), (2, 3)),
    ((0, 3), (1, 3)),
    ((2, 1, 3, 1), (4, 1, 7)),
    ((1300,), (1,)),
)


@pytest.mark.parametrize("name", BINARY)
def test_two_tensors(device: Device, name: str) -> None:
    function, kinds = BINARY[name]
    dtypes = (
        (FLOATS if "f" in kinds else ())
        + (INTEGERS if "i" in kinds else ())
        + (("bool",) if "b" in kinds else ())
    )
    truth = name.startswith(("Eq", "Ne", "Lt", "Ge", "Logical"))
    for dtype in dtypes:
        for left, right in SHAPES:
            a, b = some(left, dtype, 1), some(right, dtype, 2)
            wide = np.float64 if dtype in FLOATS else a.dtype
            with np.errstate(all="ignore"):
                wanted = function(a.astype(wide), b.astype(wide))
            out = whole(np.zeros(np.broadcast_shapes(left, right), bool if truth else a.dtype))
            device.call(name, whole(a), whole(b), out)
            close(out.after(), wanted.astype(out.part.dtype), f"{name} {dtype} {left} {right}")


@pytest.mark.parametrize("name", UNARY)
def test_one_tensor(device: Device, name: str) -> None:
    for dtype in FLOATS:
        x = some((7, 9), dtype, 3)
        for view in views(x):
            out = whole(np.zeros_like(x))
            device.call(name, view, out)
            close(out.after(), UNARY[name](x.astype(np.float64)), f"{name} {dtype} {view.part.strides}")


def test_strides_of_operands_and_outputs(device: Device) -> None:
    a, b = some((4, 6), "float32", 1), some((4, 6), "float32", 2)
    for left in views(a):
        for right in views(b):
            for out in views(np.zeros((4, 6), np.float32)):
                device.call("Add", left, right, Scalar(2.5), out)
                close(out.after(), a + np.float32(2.5) * b, "Add")
                untouched = out.whole == out.result
                assert np.count_nonzero(~untouched) <= out.part.size, "elements beside the view were written"


def test_in_place_over_views_of_the_same_memory(device: Device) -> None:
    square = some((5, 5), "float32", 4)
    memory = square.copy()
    both = View(memory, memory)
    device.call("InplaceAdd", both, View(memory, memory), Scalar(1))
    close(both.after(), square + square, "self + self")
    turned = some((5, 3), "float32", 5)
    view = View(turned, turned.T)
    device.call("InplaceMuls", view, Scalar(3.0))
    close(view.after(), 3 * turned.T, "transposed")


CASTS = [(a, b) for a in ("float32", "int64", "bool", "bfloat16", "uint8") for b in DTYPES if b != "int4"]


def test_casts_and_copies(device: Device) -> None:
    for source, target in CASTS:
        x = some((3, 4), source, 6, least=0)
        for view in views(x):
            out, copied = whole(np.zeros((3, 4), DTYPES[target])), views(np.zeros((3, 4), DTYPES[target]))[2]
            device.call("Cast", view, DTYPES[target], out)
            device.call("InplaceCopy", copied, view)
            with np.errstate(all="ignore"):
                wanted = x.astype(np.float64).astype(DTYPES[target]) if source != target else x
            for got in (out.after(), copied.after()):
                np.testing.assert_array_equal(
                    got.astype(np.float64), wanted.astype(np.float64), f"{source} {target}"
                )


def test_large_integers_keep_every_bit(device: Device) -> None:
    x = np.array([2**53 + 1, -(2**60) - 1, 7], np.int64)
    out, compared = whole(np.zeros_like(x)), whole(np.zeros(3, bool))
    device.call("Adds", whole(x), Scalar(1), Scalar(1), out)
    device.call("EqTensor", whole(x), whole(x + np.array([1, 0, 0])), compared)
    np.testing.assert_array_equal(out.after(), x + 1)
    np.testing.assert_array_equal(compared.after(), [False, True, True])
    device.call("FloorDivides", whole(-x), Scalar(3), out)
    np.testing.assert_array_equal(out.after(), -x // 3)


def test_numbers_raise_the_type(device: Device) -> None:
    x = np.array([1, 2, 3], np.int32)
    out = whole(np.zeros(3, np.float32))
    device.call("Adds", whole(x), Scalar(0.5), Scalar(1), out)
    close(out.after(), x + 0.5, "int32 + 0.5")
    device.call("Divs", whole(x), Scalar(2), out)
    close(out.after(), x / 2, "int32 / 2")
    device.call("PowTensorScalar", whole(x), Scalar(0.5), out)
    close(out.after(), np.sqrt(x), "int32 ^ 0.5")
    device.call("GtScalar", whole(x), Scalar(1.5), truth := whole(np.zeros(3, bool)))
    np.testing.assert_array_equal(truth.after(), x > 1.5)


REDUCTIONS: dict[str, Callable[..., Array]] = {
    "ReduceSum": np.sum,
    "Mean": np.mean,
    "Amax": np.max,
    "Amin": np.min,
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(device: Device, name: str) -> None:
    x = some((3, 4, 5), "float32", 7)
    for axes in ((0,), (1,), (-1,), (0, 2), (0, 1, 2)):
        for keep in (False, True):
            for view in views(x):
                wanted = REDUCTIONS[name](x.astype(np.float64), axis=axes, keepdims=keep)
                out = whole(np.zeros(wanted.shape, np.float32))
                dtype = (np.dtype(np.float32),) if name in ("ReduceSum", "Mean") else ()
                device.call(name, view, axes, keep, *dtype, out)
                close(out.after(), wanted, f"{name} {axes}")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_products(device: Device, dtype: str) -> None:
    for left, right in (
        ((3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (5, 4, 6)),
        ((3, 4), (4,)),
        ((3, 0), (0, 2)),
    ):
        a, b = some(left, dtype, 8), some(right, dtype, 9)
        wanted = np.matmul(a.astype(np.float64), b.astype(np.float64))
        for first in views(a):
            out = whole(np.zeros(wanted.shape, a.dtype))
            device.call("Matmul", first, whole(b), out, 0)
            tolerance = 1e-5 if dtype == "float32" else 2e-2
            np.testing.assert_allclose(out.after().astype(float), wanted, rtol=tolerance, atol=1e-4)


def test_a_product_is_added(device: Device) -> None:
    c, a, b = some((5,), "float32", 1), some((3, 4), "float32", 2), some((5, 4), "float32", 3)
    out = whole(np.zeros((3, 5), np.float32))
    device.call("Addmm", whole(c), whole(a), View(b, b.T), Scalar(0.5), Scalar(2.0), out, 0)
    np.testing.assert_allclose(out.after(), 0.5 * c + 2 * (a @ b.T), rtol=1e-5)
    device.call("Addmm", whole(c * np.nan), whole(a), View(b, b.T), Scalar(0.0), Scalar(1.0), out, 0)
    np.testing.assert_allclose(out.after(), a @ b.T, rtol=1e-5, atol=1e-5)


def test_softmax_and_layer_norm(device: Device) -> None:
    x = some((3, 4, 5), "float32", 10)
    for axis in (0, 1, -1):
        e = np.exp(x - x.max(axis, keepdims=True))
        out = whole(np.zeros_like(x))
        device.call("Softmax", views(x)[2], axis, out)
        close(out.after(), e / e.sum(axis, keepdims=True), "softmax")
    w, b = some((5,), "float32", 1), some((5,), "float32", 2)
    out, mean, rstd = (
        whole(np.zeros_like(x)),
        whole(np.zeros((3, 4, 1), np.float32)),
        whole(np.zeros((3, 4, 1), np.float32)),
    )
    device.call("LayerNorm", whole(x), (5,), whole(w), whole(b), 1e-5, out, mean, rstd)
    deviation = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(
        out.after(), (x - x.mean(-1, keepdims=True)) / deviation * w + b, rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(rstd.after(), 1 / deviation, rtol=1e-5)


def test_convolution_and_its_gradients(device: Device) -> None:
    x, w = some((2, 4, 6, 5), "float32", 1), some((6, 2, 3, 3), "float32", 2)
    wanted = np.zeros((2, 6, 3, 3))
    g = some(wanted.shape, "float32", 3)
    dx, dw = np.zeros((2, 4, 8, 7)), np.zeros(w.shape)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    for n, m, i, j in np.ndindex(*wanted.shape):
        channels, rows, columns = (
            slice(m // 3 * 2, m // 3 * 2 + 2),
            slice(2 * i, 2 * i + 3),
            slice(2 * j, 2 * j + 3),
        )
        wanted[n, m, i, j] = np.sum(padded[n, channels, rows, columns] * w[m])
        dx[n, channels, rows, columns] += g[n, m, i, j] * w[m]
        dw[m] += g[n, m, i, j] * padded[n, channels, rows, columns]
    settings = ((2, 2), (1, 1), (1, 1), False, (0, 0), 2)
    out = whole(np.zeros(wanted.shape, np.float32))
    device.call("Convolution", whole(x), whole(w), None, *settings, out, 0)
    np.testing.assert_allclose(out.after(), wanted, rtol=1e-4, atol=1e-4)
    grads = [whole(np.zeros(s, np.float32)) for s in (x.shape, w.shape, (6,))]
    device.call(
        "ConvolutionBackward", whole(g), whole(x), whole(w), (6,), *settings, (True, True, True), 0, *grads
    )
    np.testing.assert_allclose(grads[0].after(), dx[:, :, 1:-1, 1:-1], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(grads[1].after(), dw, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(grads[2].after(), g.sum((0, 2, 3)), rtol=1e-4, atol=1e-4)


def test_by_index(device: Device) -> None:
    x, at = some((4, 3, 5), "float32", 1), np.array([2, -1], np.int64)
    nothing = whole(np.zeros(0, np.int64))
    for indices, wanted in (([at], x[at]), ([None, at], x[:, at]), ([at, None, at + 1], x[at, :, at + 1])):
        out = whole(np.zeros(wanted.shape, np.float32))
        device.call("Index", views(x)[2], [nothing if i is None else whole(i) for i in indices], out)
        np.testing.assert_array_equal(out.after(), wanted)
    target, values = whole(np.zeros((4, 3), np.float32)), some((3, 3), "float32", 2)
    device.call("IndexPutImpl", target, [whole(np.array([1, 1, 3]))], whole(values), True, False)
    wanted = np.zeros((4, 3), np.float32)
    np.add.at(wanted, [1, 1, 3], values)
    close(target.after(), wanted, "accumulated")
    device.call(
        "Embedding", whole(x[0]), whole(np.array([[2, 0]])), out := whole(np.zeros((1, 2, 5), np.float32))
    )
    np.testing.assert_array_equal(out.after(), x[0][[[2, 0]]])


def test_results_say_how_large_they_are(device: Device) -> None:
    x = np.array([[0, 3], [2, 0]], np.int32)
    memory: list[Any] = []
    at, out = device.tensor(whole(x), memory), device.tensor(whole(np.zeros((4, 2), np.int64)), memory)
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    device.check(
        1, device.acl.aclnnNonzeroGetWorkspaceSize(at, out, ctypes.byref(size), ctypes.byref(executor))
    )
    device.check(2, device.acl.aclnnNonzero(None, size, executor, None))
    device.check(3, device.acl.aclrtSynchronizeStream(None))
    dims, rank = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
    device.check(1, device.acl.aclGetViewShape(out, ctypes.byref(dims), ctypes.byref(rank)))
    assert dims[: rank.value] == [2, 2]


def test_chance_follows_seed_and_offset(device: Device) -> None:
    first, again, other = (whole(np.zeros(4001, np.float32)) for _ in range(3))
    for out, offset in ((first, 5), (again, 5), (other, 6)):
        device.call("InplaceUniform", out, -1.0, 1.0, 7, offset)
    np.testing.assert_array_equal(first.after(), again.after())
    assert abs(np.corrcoef(first.after(), other.after())[0, 1]) < 0.1
    values = first.after()
    assert values.min() >= -1
    assert values.max() < 1
    assert abs(values.mean()) < 0.05
    assert abs(values.std() - 0.577) < 0.02


def test_lists(device: Device) -> None:
    a, b = [some((3,), "float32", i) for i in (1, 2)], [some((3,), "float32", i) for i in (3, 4)]
    out = [whole(np.zeros(3, np.float32)) for _ in a]
    device.call("ForeachAddListV2", [whole(x) for x in a], [whole(x) for x in b], Scalar(0.5), out)
    for x, y, got in zip(a, b, out, strict=True):
        close(got.after(), x + 0.5 * y, "sum")
    device.call("ForeachDivScalarList", [whole(x) for x in a], [Scalar(2.0), Scalar(4.0)], out)
    for x, n, got in zip(a, (2, 4), out, strict=True):
        close(got.after(), x / n, "quotient")


def attended(q: Array, k: Array, v: Array, hidden: Array) -> Array:
    """In float64; keys and values have half the heads."""
    k, v = (np.repeat(t.astype(np.float64), 2, 1) for t in (k, v))
    scores = np.where(hidden, -np.inf, 0.5 * q.astype(np.float64) @ k.swapaxes(2, 3))
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH"])
def test_attention_of_inference(device: Device, layout: str) -> None:
    """Batches have lengths of their own; what a mask hides, and causal order."""
    q = some((2, 4, 5, 8), "float32", 1)
    k, v = (some((2, 2, 7, 8), "float32", seed) for seed in (2, 3))
    mask = np.random.default_rng(4).random((2, 1, 5, 7)) > 0.7
    mask[..., 0] = False

    def laid(t: Array) -> View:
        rows = t if layout == "BNSD" else np.ascontiguousarray(t.swapaxes(1, 2))
        return whole(rows.reshape(*rows.shape[:2], -1) if layout == "BSH" else rows)

    lengths, far = np.arange(7) >= np.array([7, 4])[:, None, None, None], 2**31 - 1
    causal = np.arange(7) > np.arange(5)[:, None] + 2
    of_batches = whole(mask[:, 0])  # as many as keys have heads
    cases = [(None, (), 0, np.False_), (whole(mask), (7, 4), 0, mask | lengths), (None, (), 3, causal)]
    cases.append((of_batches, (), 0, mask))
    for given, lengths_of_keys, mode, hidden in cases:
        out, none = laid(np.zeros_like(q)), [None] * 5
        operands = [laid(q), laid(k), laid(v), None, given, (), lengths_of_keys]
        numbers = [4, 0.5, far, far, layout, 2, mode, 0]
        device.call("PromptFlashAttentionV3", *operands, *none, *numbers, out)
        np.testing.assert_allclose(
            out.after(), laid(attended(q, k, v, hidden)).whole, rtol=1e-4, atol=1e-5, err_msg=str(mode)
        )
    one, out = np.ascontiguousarray(q[:, :, :1]), laid(np.zeros_like(q[:, :, :1]))
    operands = [laid(one), [laid(k)], [laid(v)], None, whole(lengths[:, 0, 0]), (7, 6), *[None] * 9]
    device.call("IncreFlashAttentionV4", *operands, 4, 0.5, layout, 2, 0, 0, out)
    np.testing.assert_allclose(out.after(), laid(attended(one, k, v, lengths)).whole, rtol=1e-4, atol=1e-5)
    operands[13] = whole(np.zeros((2, 1), np.int32))
    with pytest.raises(Failed, match="positions, not 2 and 0"):
        device.call("IncreFlashAttentionV4", *operands, 4, 0.5, layout, 2, 0, 0, out)


def test_what_does_not_fit_gets_a_code(device: Device) -> None:
    x, y = whole(np.zeros((2, 3), np.float32)), whole(np.zeros(4, np.float32))
    with pytest.raises(Failed, match="other does not broadcast to the shape of out") as failed:
        device.call("Mul", x, y, whole(np.zeros((2, 3), np.float32)))
    assert (failed.value.phase, failed.value.code) == (1, 161002)
    with pytest.raises(Failed, match="out must not be NULL") as failed:
        device.call("Mul", x, x, None)
    assert (failed.value.phase, failed.value.code) == (1, 161001)
    with pytest.raises(Failed, match="index 9 is out of an axis of 2 elements") as failed:
        device.call("Embedding", x, whole(np.array([9])), whole(np.zeros((1, 3), np.float32)))
    assert failed.value.phase == 3
    with pytest.raises(Failed, match="3 columns against 2 rows"):
        device.call("Matmul", x, x, whole(np.zeros((2, 3), np.float32)), 0)
    long = View(x.whole, np.lib.stride_tricks.as_strided(x.whole, (200, 3), (12, 4)))
    with pytest.raises(Failed, match="bytes left in its block"):
        device.call("Relu", long, whole(np.zeros((200, 3), np.float32)))


def test_every_function_refuses_nothing(device: Device) -> None:
    headers = HEADER.parent.glob("*.h")
    names = [n for h in headers for n in re.findall(r"(aclnn\w+)GetWorkspaceSize\(", h.read_text())]
    assert len(names) == len(set(names)) > 250
    for name in names:
        nothing = [ctypes.c_void_p()] * 48
        assert getattr(device.acl, f"{name}GetWorkspaceSize")(*nothing) == 161001, name
        assert getattr(device.acl, name)(*nothing[:4]) in (161001, 161002), name
