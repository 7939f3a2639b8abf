"""Operators that transformers are put together from, against their definitions in float64."""

from __future__ import annotations

import ctypes
import subprocess
from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ascend_ep

from .operators import DTYPES, Device, Failed, View, views, whole

Array = np.ndarray[Any, Any]
BOUNDS = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
INCLUDE = Path(ascend_ep.__file__).parent / "include"


def some(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(DTYPES[dtype])


def empty(shape: tuple[int, ...], dtype: str = "float32") -> View:
    return whole(np.full(shape, 77, DTYPES[dtype]))


def wide(*arrays: Array) -> list[Array]:
    return [a.astype(np.float64) for a in arrays]


def close(out: View, wanted: Array, dtype: str = "float32") -> None:
    bound = BOUNDS[dtype]
    np.testing.assert_allclose(out.after().astype(np.float64), wanted, rtol=bound, atol=bound)


def normal(x: Array, gamma: Array, eps: float) -> tuple[Array, Array]:
    rstd = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    return x * rstd * gamma, rstd


@pytest.mark.parametrize("dtype", list(BOUNDS))
def test_norms_of_sums(device: Device, dtype: str) -> None:
    a, b, gamma, beta = (some((3, 5, 7), dtype, s) if s < 2 else some((7,), dtype, s) for s in range(4))
    a[1, 2, 3] = np.nan
    x, g = wide(a)[0] + wide(b)[0], wide(gamma)[0]
    y, rstd = normal(x, g, 1e-3)
    for one, two in zip(views(a), views(b), strict=True):
        made, scale, total = empty(a.shape, dtype), empty((3, 5, 1)), empty(a.shape, dtype)
        device.call("AddRmsNorm", one, two, whole(gamma), 1e-3, made, scale, total)
        close(made, y, dtype)
        close(scale, rstd, dtype)
        close(total, x, dtype)
    one, two = whole(a), whole(b)
    device.call("InplaceAddRmsNorm", one, two, whole(gamma), 1e-3, empty((3, 5, 1)))
    close(one, y, dtype)
    close(two, x, dtype)
    made, same = empty(a.shape), empty(a.shape, dtype)
    device.call("AddRmsNormCast", whole(a), whole(b), whole(gamma), 1e-3, made, same, scale, total)
    close(made, y)
    close(same, y, dtype)
    device.call("GemmaRmsNorm", whole(a), whole(gamma), 1e-3, made := empty(a.shape, dtype), scale)
    close(made, normal(wide(a)[0], 1 + g, 1e-3)[0], dtype)
    centred = x - x.mean(-1, keepdims=True)
    made, mean = empty(a.shape, dtype), empty((3, 5, 1))
    device.call(
        "AddLayerNorm",
        whole(a),
        whole(b),
        whole(gamma),
        whole(beta),
        None,
        1e-3,
        True,
        made,
        mean,
        scale,
        total,
    )
    close(made, normal(centred, g, 1e-3)[0] + wide(beta)[0], dtype)
    close(mean, x.mean(-1, keepdims=True), dtype)
    close(total, x, dtype)
    deep = 0.5 * wide(a)[0] + wide(b)[0]
    deep -= deep.mean(-1, keepdims=True)
    device.call("DeepNorm", whole(a), whole(b), whole(beta), whole(gamma), 0.5, 1e-3, mean, scale, made)
    close(made, normal(deep, g, 1e-3)[0] + wide(beta)[0], dtype)


def rotated(x: Array, mode: int) -> tuple[Array, Array]:
    """What meets cos, and what meets sin."""
    if mode == 3:
        x = np.concatenate([x[..., ::2], x[..., 1::2]], -1)
    if mode == 1:
        return x, np.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
    parts = np.split(x, 4 if mode == 2 else 2, -1)
    pairs = [p for i in range(0, len(parts), 2) for p in (-parts[i + 1], parts[i])]
    return x, np.concatenate(pairs, -1)


@pytest.mark.parametrize("mode", range(4))
@pytest.mark.parametrize("dtype", list(BOUNDS))
def test_rotation_by_positions_and_its_gradients(device: Device, dtype: str, mode: int) -> None:
    x, grad = some((2, 3, 5, 12), dtype), some((2, 3, 5, 12), dtype, 1)
    cos, sin = some((1, 3, 1, 12), dtype, 2), some((1, 3, 1, 12), dtype, 3)
    first, second = rotated(wide(x)[0], mode)
    for given in views(x):
        device.call(
            "RotaryPositionEmbedding", given, whole(cos), whole(sin), mode, out := empty(x.shape, dtype)
        )
        close(out, first * wide(cos)[0] + second * wide(sin)[0], dtype)
    dx, dcos, dsin = empty(x.shape, dtype), empty(cos.shape, dtype), empty(sin.shape, dtype)
    device.call(
        "RotaryPositionEmbeddingGrad", whole(grad), whole(cos), whole(sin), whole(x), mode, dx, dcos, dsin
    )
    g = wide(grad)[0]
    rows, turns = (t.T for t in rotated(np.eye(12), mode))
    # y = R x cos + T x sin for matrices R and T: the way back is by their transposes
    wanted = (g * wide(cos)[0]) @ rows + (g * wide(sin)[0]) @ turns
    close(dx, wanted, dtype)
    bound = BOUNDS[dtype] * 10
    for made, part in ((dcos, first), (dsin, second)):
        np.testing.assert_allclose(
            made.after().astype(np.float64), (g * part).sum((0, 2), keepdims=True), rtol=bound, atol=bound
        )
    odd = whole(some((2, 5)))
    with pytest.raises(Failed, match="no 2 equal parts" if mode != 2 else "no 4 equal parts"):
        device.call("RotaryPositionEmbedding", odd, odd, odd, mode, empty((2, 5)))


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("approximate", [0, 1])
def test_gelu_of_one_half_times_the_other(device: Device, approximate: int, left: bool) -> None:
    x, grad = some((3, 10, 5)), some((3, 5, 5), seed=1)

    def gelu(v: Array) -> Array:
        inner = np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3))
        made: Array = 0.5 * v * (1 + (np.vectorize(erf)(v / np.sqrt(2)) if approximate else inner))
        return made

    halves = np.split(wide(x)[0], 2, 1)
    active, other = halves if left else halves[::-1]
    for given in views(x):
        out, kept = empty((3, 5, 5)), empty((3, 5, 5))
        device.call("GeGluV3", given, 1, approximate, left, out, kept)
        close(out, gelu(active) * other)
        close(kept, gelu(active))
    device.call(
        "GeGluV3Backward",
        whole(grad),
        whole(x),
        whole(kept.after()),
        1,
        approximate,
        left,
        back := empty(x.shape),
    )
    slope = (gelu(active + 1e-5) - gelu(active - 1e-5)) / 2e-5
    parts = [wide(grad)[0] * slope * other, wide(grad)[0] * gelu(active)]
    close(back, np.concatenate(parts if left else parts[::-1], 1))
    if not left:
        device.call("GeGlu", whole(x), 1, approximate, out, kept)
        close(out, gelu(active) * other)


def test_state_after_state(device: Device) -> None:
    positions, keys, heads, rows, columns = 6, 2, 4, 3, 5
    q, k = some((positions, keys, columns), "bfloat16"), some((positions, keys, columns), "bfloat16", 1)
    v, beta = some((positions, heads, rows), "bfloat16", 2), some((positions, heads), "bfloat16", 3)
    states, g, gk = some((7, heads, rows, columns), seed=4), -abs(some((positions, heads), seed=5)), None
    gk = -abs(some((positions, heads, columns), seed=6))
    lengths, slots = np.array([4, 2], np.int32), np.array([6, 1, 1, 3, 0, 5], np.int32)
    for accepted, fades in ((None, True), (np.array([2, 1], np.int32), True), (None, False)):
        s, out = wide(states)[0], np.zeros((positions, heads, rows))
        start = 0
        for b, length in enumerate(lengths):
            state = s[slots[start + (accepted[b] - 1 if accepted is not None else 0)]].copy()
            for t in range(start, start + length):
                for h in range(heads):
                    fade = np.exp(wide(g)[0][t, h] + wide(gk)[0][t, h]) if fades else 1
                    key, query = wide(k)[0][t, h // 2], wide(q)[0][t, h // 2]
                    one = state[h] * fade
                    one = one + np.outer(float(beta[t, h]) * (wide(v)[0][t, h] - one @ key), key)
                    state[h], out[t, h] = one, 0.5 * one @ query
                s[slots[t]] = state
            start += length
        given, made = whole(states), empty(v.shape, "bfloat16")
        gates = [whole(g), whole(gk)] if fades else [None, None]
        operands = [whole(q), whole(k), whole(v), whole(beta), given, whole(lengths), whole(slots), *gates]
        wanted = None if accepted is None else whole(accepted)
        device.call("RecurrentGatedDeltaRule", *operands, wanted, ctypes.c_float(0.5), made)
        close(made, out, "bfloat16")
        close(given, s)
    operands[6] = whole(np.full(6, 7, np.int32))
    with pytest.raises(Failed, match="position 0 has state 7 of 7"):
        device.call("RecurrentGatedDeltaRule", *operands, None, ctypes.c_float(0.5), made)


@pytest.mark.parametrize("version", ["", "V2", "V3"])
@pytest.mark.parametrize("layout", ["BNSD", "BSND"])
def test_fused_attention_and_the_logarithm_of_its_sums(device: Device, layout: str, version: str) -> None:
    q, k, v = (some((2, 4 if i == 0 else 2, 5 if i == 0 else 7, 8), seed=i) for i in range(3))
    shift, far = some((2, 4, 5, 7), seed=3), 2**31 - 1
    mask = np.random.default_rng(4).random((2, 1, 5, 7)) > 0.7
    mask[..., 0] = False
    keys, values = (np.repeat(wide(t)[0], 2, 1) for t in (k, v))
    scores = np.where(mask, -np.inf, 0.5 * wide(q)[0] @ keys.swapaxes(2, 3) + wide(shift)[0])
    e = np.exp(scores - scores.max(-1, keepdims=True))

    def laid(t: Array) -> View:
        return whole(t if layout == "BNSD" else np.ascontiguousarray(t.swapaxes(1, 2)))

    out, lse = laid(np.zeros_like(q)), empty((2, 4, 5, 1))
    more = {"": 0, "V2": 7, "V3": 10}[version]
    operands = [laid(q), [laid(k)], [laid(v)], whole(shift), whole(mask), None, None, *[None] * (10 + more)]
    numbers = [4, 0.5, far, far, layout, 2, 0, 0, 0, 0, True, *([0, 0] if version else [])]
    device.call(f"FusedInferAttentionScore{version}", *operands, *numbers, out, lse)
    close(out, laid(e / e.sum(-1, keepdims=True) @ values).whole)
    close(lse, np.log(np.exp(scores).sum(-1, keepdims=True)))
    operands[14] = whole(np.zeros((2, 1), np.int32))
    with pytest.raises(Failed, match="blocks of keys need their lengths"):
        device.call(f"FusedInferAttentionScore{version}", *operands, *numbers, out, lse)


def test_programs_may_declare_what_only_its_own_header_declares(tmp_path: Path) -> None:
    """As llama.cpp does, whose declaration differs in a `const`."""
    source = tmp_path / "own.cpp"
    source.write_text(
        '#include "aclnnop/aclnn_add.h"\n#include "aclnnop/aclnn_mul.h"\nextern "C" aclnnStatus '
        "aclnnRotaryPositionEmbeddingGetWorkspaceSize(const aclTensor *, const aclTensor *, "
        "const aclTensor *, int64_t, const aclTensor *, uint64_t *, aclOpExecutor **);\n"
        "auto *add = aclnnAddGetWorkspaceSize;\n"
    )
    command = ["c++", "-fsyntax-only", f"-I{INCLUDE}", str(source)]
    assert subprocess.run(command, capture_output=True, text=True).stderr == ""
    source.write_text(
        '#include "aclnnop/aclnn_rotary_position_embedding.h"\n#include "aclnnop/aclnn_logsoftmax.h"\n'
        '#include "aclnnop/aclnn_isclose.h"\n#include "aclnnop/aclnn_lerp_tensor.h"\n'
        "auto *three = aclnnInplaceLerpGetWorkspaceSize;\n"
        "auto *one = aclnnRotaryPositionEmbeddingGetWorkspaceSize;\n"
        "auto *two = aclnnLogSoftmaxGetWorkspaceSize;\n"
    )
    assert subprocess.run(command, capture_output=True, text=True).stderr == ""
