"""Products whose weights are small integers, and products of groups of rows, against float64."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .operators import Device, Failed, View, empty, whole

Array = np.ndarray[Any, Any]


def some(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float16)


def close(out: View, wanted: Array, bound: float = 2e-3) -> None:
    np.testing.assert_allclose(out.after().astype(np.float64), wanted, rtol=bound, atol=bound)


def words(w: Array) -> Array:
    """Eight numbers of 4 bits along the last axis in each int32."""
    parts = (w.reshape(*w.shape[:-1], -1, 8).astype(np.int64) & 15) << (4 * np.arange(8))
    made: Array = parts.sum(-1).astype(np.uint32).view(np.int32)
    return made


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("kind", ["int8", "int4", "int32"])
@pytest.mark.parametrize("group", [0, 32])
def test_weights_of_integers(device: Device, kind: str, transposed: bool, group: int) -> None:
    m, k, n = 3, 72, 24
    least = -128 if kind == "int8" else -8
    w = np.random.default_rng(1).integers(least, -least, (k, n)).astype(np.int8)
    scales = some(-(-k // group) if group else 1, n, seed=2)
    offsets = some(*scales.shape, seed=3)
    x, bias = some(m, k, seed=4), some(n, seed=5)
    stored = np.ascontiguousarray(w.T) if transposed else w
    if kind != "int8":
        stored = words(stored) if kind == "int32" else stored.astype(ml_dtypes.int4)
    given = View(stored, stored.T if transposed else stored)
    rows = np.repeat(scales, group, 0)[:k] if group else scales
    behind = np.repeat(offsets, group, 0)[:k] if group else offsets
    real = (w + behind.astype(np.float64)) * rows
    wanted = x.astype(np.float64) @ real + bias
    operands = [whole(x), given, whole(scales), whole(offsets), None, None, whole(bias), group]
    for version, more in (("V2", []), ("V3", [0])):
        device.call(f"WeightQuantBatchMatmul{version}", *operands, *more, out := empty(m, n))
        close(out, wanted)
    operands[3] = operands[6] = None
    device.call("WeightQuantBatchMatmulV2", *operands, out := empty(m, n))
    close(out, x.astype(np.float64) @ (w * rows.astype(np.float64)))
    quant, shift = whole(np.full(n, 0.1, np.float32)), whole(np.full(n, 3, np.float32))
    operands[4:6] = quant, shift
    device.call("WeightQuantBatchMatmulV2", *operands, out := empty(m, n, dtype=np.int8))
    exact = x.astype(np.float64) @ (w * rows.astype(np.float64)) * 0.1 + 3
    assert np.abs(out.after() - np.clip(exact, -128, 127)).max() <= 0.51


def test_scales_that_do_not_fit_and_half_bytes_that_are_written(device: Device) -> None:
    w, x = whole(np.ones((8, 4), np.int8)), whole(some(2, 8))
    rest: list[Any] = [None, None, None, None, 4]
    with pytest.raises(Failed, match="groups of 4 rows of a weight"):
        device.call("WeightQuantBatchMatmulV2", x, w, whole(some(3, 4)), *rest, empty(2, 4))
    four = whole(np.ones((8, 4), ml_dtypes.int4))
    with pytest.raises(Failed, match="4-bit integers, which are read only"):
        device.call("Abs", w, four)
    device.call("Cast", four, np.dtype(np.float32), out := empty(8, 4))
    close(out, np.ones((8, 4)))


def test_groups_of_rows_and_columns(device: Device) -> None:
    x, w, b = some(7, 5), some(3, 5, 4, seed=1), some(3, 4, seed=2)
    ends, none = np.array([2, 2, 6]), [None] * 4
    real = [x[s:e].astype(np.float64) @ w[i] + b[i] for i, (s, e) in enumerate([(0, 2), (2, 2), (2, 6)])]
    rows: Any
    for weights, biases in (([whole(w)], [whole(b)]), ([whole(t) for t in w], [whole(t) for t in b])):
        out = empty(7, 4)
        device.call("GroupedMatmulV3", [whole(x)], weights, biases, *none, whole(ends), 3, 0, [out])
        close(out, np.concatenate([*real, np.full((1, 4), 77)]))
    outs = [empty(n, 4) for n in (2, 0, 4)]
    device.call("GroupedMatmulV3", [whole(x)], [whole(w)], [whole(b)], *none, whole(ends), 0, 0, outs)
    for out, wanted in zip(outs, real, strict=True):
        close(out, wanted)
    rows = [some(n, 5, seed=9 + n) for n in (1, 3)]
    outs = [empty(len(r), 4) for r in rows]
    weights = [whole(w[0]), whole(w[1])]
    device.call("GroupedMatmulV3", [whole(r) for r in rows], weights, None, *none, None, 0, -1, outs)
    for out, r, each in zip(outs, rows, w, strict=False):
        close(out, r.astype(np.float64) @ each)
    columns, y = some(6, 4, seed=3), empty(3, 7, 4)
    rotated = np.ascontiguousarray(np.zeros((6, 7), np.float16) + some(6, 7, seed=4))
    device.call(
        "GroupedMatmulV3", [View(rotated, rotated.T)], [whole(columns)], None, *none, whole(ends), 3, 2, [y]
    )
    spans = [(0, 2), (2, 2), (2, 6)]
    close(y, np.stack([rotated[s:e].T.astype(np.float64) @ columns[s:e] for s, e in spans]))
    bad = whole(np.array([2, 9]))
    with pytest.raises(Failed, match="group 1 ends at 9 of 7 rows"):
        device.call("GroupedMatmulV3", [whole(x)], [whole(w)], None, *none, bad, 3, 0, [empty(7, 4)])


def test_weights_of_groups_are_integers(device: Device) -> None:
    x, scales, offsets = some(5, 8), some(2, 6, seed=1), some(2, 6, seed=2)
    w = np.random.default_rng(3).integers(-128, 128, (2, 8, 6)).astype(np.int8)
    device.call(
        "GroupedMatmulV3", [whole(x)], [whole(w)], None, None, None, [whole(scales)], [whole(offsets)],
        whole(np.array([1, 5])), 3, 0, [out := empty(5, 6)],
    )  # fmt: skip
    real = (w + offsets[:, None].astype(np.float64)) * scales[:, None]
    close(out, np.concatenate([x[:1].astype(np.float64) @ real[0], x[1:].astype(np.float64) @ real[1]]))


def test_memory_for_weights(device: Device) -> None:
    size, acl = ctypes.c_uint64(), device.acl
    for shape, dtype, wanted in (((17, 33), 1, 32 * 48), ((17, 33), 2, 32 * 64), ((2, 16, 16), 27, 512)):
        held = (ctypes.c_int64 * len(shape))(*shape)
        acl.aclCreateIntArray.restype = ctypes.c_void_p
        array = ctypes.c_void_p(acl.aclCreateIntArray(held, ctypes.c_uint64(len(shape))))
        assert acl.aclnnCalculateMatmulWeightSizeV2(array, dtype, ctypes.byref(size)) == 0
        assert size.value == wanted
        assert acl.aclnnCalculateMatmulWeightSizeV2(array, 9, ctypes.byref(size)) == 161002
        assert acl.aclnnCalculateMatmulWeightSizeV2(array, dtype, None) == 161001
    assert acl.aclnnCalculateMatmulWeightSize(array, ctypes.byref(size)) == 0
    assert size.value == 512
    a, b = some(3, 5), some(5, 4, seed=1)
    device.call("TransMatmulWeight", kept := whole(b))
    device.call("MatmulWeightNz", whole(a), whole(kept.after()), out := empty(3, 4, dtype=np.float16), 0)
    close(out, a.astype(np.float64) @ b, 5e-3)


def test_executors_that_run_again(device: Device) -> None:
    """As often as they are launched, with the addresses that they have then."""
    acl = device.acl
    memory: list[tuple[ctypes.c_void_p, View]] = []
    x, y, other = some(99).astype(np.float32), empty(99), some(99, seed=1).astype(np.float32)
    tensors = [device.tensor(v, memory) for v in (whole(x), y, whole(other))]
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    assert (
        acl.aclnnAbsGetWorkspaceSize(tensors[0], tensors[1], ctypes.byref(size), ctypes.byref(executor)) == 0
    )
    assert acl.aclSetAclOpExecutorRepeatable(executor) == 0

    def run() -> Array:
        assert acl.aclnnAbs(None, size, executor, None) == 0, device.error()
        assert acl.aclrtSynchronizeStream(None) == 0
        got = np.empty(99, np.float32)
        device.copy(ctypes.c_void_p(got.ctypes.data), memory[1][0].value, got.nbytes, 2)
        return got

    for _ in range(2):
        np.testing.assert_array_equal(run(), np.abs(x))
    zero = ctypes.c_size_t(0)
    assert acl.aclSetInputTensorAddr(executor, zero, tensors[0], memory[2][0]) == 0
    np.testing.assert_array_equal(run(), np.abs(other))
    assert acl.aclSetTensorAddr(executor, zero, tensors[0], memory[0][0]) == 0
    np.testing.assert_array_equal(run(), np.abs(x))
    short = ctypes.c_void_p((memory[1][0].value or 0) + 200)
    assert acl.aclSetOutputTensorAddr(executor, zero, tensors[1], short) == 161002
    assert acl.aclSetInputTensorAddr(executor, ctypes.c_size_t(1), tensors[0], memory[0][0]) == 161002
    assert "no tensor 0 at place 1" in device.error()
    assert acl.aclDestroyAclOpExecutor(executor) == 0
    assert acl.aclnnAbs(None, size, executor, None) == 161002
    assert acl.aclDestroyAclOpExecutor(executor) == 161002
    assert acl.aclSetAclOpExecutorRepeatable(None) == 161001
    assert acl.aclrtSynchronizeStream(None) in (0, 161002)
    for at, _ in memory:
        acl.aclrtFree(at)
