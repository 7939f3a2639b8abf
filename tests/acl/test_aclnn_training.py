"""Optimisers, batch norms over several devices, norms, losses and cells, against float64."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from .beside_float64 import close, wide
from .operators import Device, Failed, Scalar, empty, some, whole

torch = pytest.importorskip("torch")
F = torch.nn.functional
Array = np.ndarray[Any, Any]


def number(value: float) -> Any:
    return ctypes.c_float(value)


# ---- optimisers


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_adam_with_decay(device: Device, amsgrad: bool, maximize: bool) -> None:
    w = torch.nn.Parameter(wide(some(5, 7)))
    steps = torch.optim.AdamW([w], 0.01, (0.8, 0.95), 1e-6, 0.1, amsgrad, maximize=maximize)
    state = [whole(some(5, 7)), *(whole(np.zeros((5, 7), np.float32)) for _ in range(3))]
    lists = [[whole(v.part.copy())] for v in state]
    for step in (1, 2, 3):
        grad, at = some(5, 7, seed=step), whole(np.array([step], np.float32))
        w.grad = wide(grad)
        steps.step()
        numbers = map(number, (0.01, 0.8, 0.95, 0.1, 1e-6))
        device.call("ApplyAdamWV2", *state, whole(grad), at, *numbers, amsgrad, maximize)
        device.call(
            "FusedAdamw", lists[0], [whole(grad)], *lists[1:], [at], None, None,
            *(0.01, 0.8, 0.95, 0.1, 1e-6), amsgrad, maximize,
        )  # fmt: skip
        state = [whole(v.after().copy()) for v in state]
        lists = [[whole(v[0].after().copy())] for v in lists]
    close(state[0].part, w)
    close(lists[0][0].part, w)
    device.call(
        "FusedAdamw", lists[0], [whole(grad)], *lists[1:], [at], None, whole(np.ones(1, np.float32)),
        *(0.01, 0.8, 0.95, 0.1, 1e-6), amsgrad, maximize,
    )  # fmt: skip
    np.testing.assert_array_equal(lists[0][0].after(), lists[0][0].part)  # infinities were found
    two = [whole(grad), whole(grad)]
    with pytest.raises(Failed, match="2 tensors for 1 weights"):
        device.call("FusedAdamw", lists[0], two, *lists[1:], [at], None, None, *(0.1,) * 5, False, False)


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("corrected", [False, True])
def test_adam_with_an_average(device: Device, mode: int, corrected: bool) -> None:
    g, w, m, v, s = (some(6, seed=k) for k in range(5))
    v = np.abs(v)
    views = [whole(t) for t in (w, m, v, s)]
    given = (0.01, 0.9, 0.8, 0.95, 1e-6, mode, corrected, 0.1)
    device.call("ApplyFusedEmaAdam", whole(g), *views, whole(np.array([3])), *given)
    gg, ww, mm, vv, ss = map(wide, (g, w, m, v, s))
    gg = gg + 0.1 * ww if mode == 0 else gg
    mm, vv = 0.8 * mm + 0.2 * gg, 0.95 * vv + 0.05 * gg * gg
    first, second = (1 - 0.8**3, 1 - 0.95**3) if corrected else (1, 1)
    by = mm / first / ((vv / second).sqrt() + 1e-6) + (0.1 * ww if mode else 0)
    for view, exact in zip(views, (ww - 0.01 * by, mm, vv, 0.9 * ss + 0.1 * (ww - 0.01 * by)), strict=True):
        close(view.after(), exact)
    with pytest.raises(Failed, match="mode 2 is none of 0, 1"):
        device.call("ApplyFusedEmaAdam", whole(g), *views, whole(np.array([3])), *given[:5], 2, True, 0.1)


@pytest.mark.parametrize("nesterov", [False, True])
def test_adam_as_tensorflow_has_it(device: Device, nesterov: bool) -> None:
    w, m, v, g = (some(9, seed=k) for k in range(4))
    views = [whole(w), whole(m), whole(np.abs(v))]
    b1, b2, lr, eps, p1, p2 = 0.9, 0.999, 0.01, 1e-7, 0.9**4, 0.999**4
    given = [whole(np.array([n], np.float32)) for n in (p1, p2, lr, b1, b2, eps)]
    device.call("ApplyAdam", *views, *given, whole(g), False, nesterov)
    mm, vv = b1 * wide(m) + (1 - b1) * wide(g), b2 * wide(np.abs(v)) + (1 - b2) * wide(g) ** 2
    ahead = b1 * mm + (1 - b1) * wide(g) if nesterov else mm
    at = lr * np.sqrt(1 - p2) / (1 - p1)
    for view, exact in zip(views, (wide(w) - at * ahead / (vv.sqrt() + eps), mm, vv), strict=True):
        close(view.after(), exact)


@pytest.mark.parametrize(("nesterov", "dampening"), [(False, 0.3), (True, 0.0)])
def test_descent(device: Device, nesterov: bool, dampening: float) -> None:
    w = torch.nn.Parameter(wide(some(4, 3)))
    steps = torch.optim.SGD([w], 0.1, 0.9, dampening, 0.01, nesterov)
    params, kept = [whole(some(4, 3))], [whole(np.zeros((4, 3), np.float32))]
    for step in range(3):
        grad = some(4, 3, seed=step + 1)
        w.grad = wide(grad)
        steps.step()
        numbers = map(number, (0.01, 0.9, 0.1, dampening))
        grads, scale = [whole(grad * 8)], whole(np.array([8], np.float32))
        device.call("FusedSgd", params, grads, kept, scale, *numbers, nesterov, False, step == 0)
        close(grads[0].after(), grad)
        params, kept = [whole(params[0].after().copy())], [whole(kept[0].after().copy())]
    close(params[0].part, w)


# ---- batch norms over several devices


def test_batch_norms_over_devices(device: Device) -> None:
    parts = [some(3, 4, 5, seed=k) for k in (0, 1)]
    x = torch.cat([wide(p) for p in parts]).requires_grad_()
    weight, bias, running = some(4, seed=2), some(4, seed=3), [some(4, seed=4), np.abs(some(4, seed=5))]
    kept = [wide(r).clone() for r in running]
    y = F.batch_norm(x, *kept, wide(weight), wide(bias), True, 0.1, 1e-5)
    found = []
    for part in parts:
        mean, invstd, total, squares = (empty(4) for _ in range(4))
        device.call("BatchNormStats", whole(part), 1e-5, mean, invstd)
        device.call("BatchNormReduce", whole(part), total, squares)
        found.append([v.after() for v in (mean, invstd, total, squares)])
    means, invstds, sums, squares = (whole(np.stack(rows)) for rows in zip(*found, strict=True))
    counts = whole(np.array([15, 15], np.float32))
    mean, invstd, views = empty(4), empty(4), [whole(r) for r in running]
    device.call(
        "BatchNormGatherStatsWithCounts",
        whole(parts[0]),
        means,
        invstds,
        *views,
        0.1,
        1e-5,
        counts,
        mean,
        invstd,
    )
    again = [empty(4), empty(4), *(whole(r) for r in running)]
    device.call(
        "SyncBatchNormGatherStats", sums, squares, counts, *again[2:], number(0.1), number(1e-5), *again[:2]
    )
    for made in ([mean, invstd, *views], again):
        close(made[0].after(), x.detach().mean((0, 2)))
        close(made[1].after(), 1 / (x.detach().var((0, 2), correction=0) + 1e-5).sqrt())
        close(made[2].after(), kept[0])
        close(made[3].after(), kept[1])
    stats = [whole(mean.after()), whole(invstd.after())]
    upstream = [some(3, 4, 5, seed=k) for k in (6, 7)]
    y.backward(torch.cat([wide(u) for u in upstream]))
    sums_of = [np.zeros(4), np.zeros(4)]
    for k, part in enumerate(parts):
        out, made = empty(3, 4, 5), [empty(4) for _ in range(4)]
        device.call("BatchNormElemt", whole(part), whole(weight), whole(bias), *stats, 1e-5, out)
        close(out.after(), y.detach()[3 * k : 3 * k + 3])
        device.call(
            "BatchNormReduceBackward",
            whole(upstream[k]),
            whole(part),
            *stats,
            whole(weight),
            True,
            True,
            True,
            *made,
        )
        close(made[2].after(), made[1].after() * stats[1].part)
        np.testing.assert_array_equal(made[3].after(), made[0].after())
        sums_of = [a + b.after() for a, b in zip(sums_of, made, strict=False)]
    given = [whole(s.astype(np.float32)) for s in sums_of]
    for k, part in enumerate(parts):
        out = empty(3, 4, 5)
        device.call(
            "BatchNormElemtBackward", whole(upstream[k]), whole(part), *stats, whole(weight), *given,
            whole(np.array([15, 15], np.int32)), out,
        )  # fmt: skip
        close(out.after(), x.grad[3 * k : 3 * k + 3], 1e-4)


# ---- norms


def test_layer_norms_of_sums_backwards(device: Device) -> None:
    x1, x2, dy, dsum, gamma = (some(*s, seed=k) for k, s in enumerate([(2, 3, 8)] * 4 + [(8,)]))
    for name, alpha in (("AddLayerNormGrad", 1.0), ("DeepNormGrad", 0.3)):
        a, b, g = (wide(t).requires_grad_() for t in (x1, x2, gamma))
        beta = torch.zeros(8, dtype=torch.float64, requires_grad=True)
        total = alpha * a + b
        y = F.layer_norm(total, (8,), g, beta, 1e-6)
        y.backward(wide(dy))
        mean = total.detach().mean(-1, keepdim=True)
        rstd = 1 / (total.detach().var(-1, correction=0, keepdim=True) + 1e-6).sqrt()
        stats = [whole(t.numpy().astype(np.float32)) for t in (mean, rstd)]
        out = [empty(2, 3, 8), empty(2, 3, 8), empty(8), empty(8)]
        if name == "DeepNormGrad":
            given = (whole(dy), whole(x1), whole(x2), whole(gamma), *stats, 0.3)
            device.call(name, *given, out[0], out[1], out[3], out[2])
            close(out[0].after(), a.grad)
            close(out[1].after(), b.grad)
        else:
            given = (whole(dy), whole(x1), whole(x2), stats[1], stats[0], whole(gamma), whole(dsum))
            device.call(name, *given, out[0], out[2], out[3])
            close(out[0].after(), a.grad + wide(dsum))
        close(out[2].after(), g.grad)
        close(out[3].after(), beta.grad)


def test_norms_with_scales_of_their_own(device: Device) -> None:
    x, scale, shift, w, b = (some(*s, seed=k) for k, s in enumerate([(2, 3, 8), (2, 8), (2, 8), (8,), (8,)]))
    inner = F.layer_norm(wide(x), (8,), wide(w), wide(b), 1e-5)
    exact = inner * (1 + wide(scale)[:, None]) + wide(shift)[:, None]
    out, mean, rstd = empty(2, 3, 8), empty(2, 3, 1), empty(2, 3, 1)
    device.call("AdaLayerNorm", *map(whole, (x, scale, shift, w, b)), 1e-5, out)
    close(out.after(), exact)
    device.call("AdaLayerNormV2", *map(whole, (x, scale, shift)), None, None, 1e-5, out, mean, rstd)
    close(mean.after(), wide(x).mean(-1, keepdim=True))
    close(
        out.after(), F.layer_norm(wide(x), (8,), eps=1e-5) * (1 + wide(scale)[:, None]) + wide(shift)[:, None]
    )
    with pytest.raises(Failed, match="4 scales for 6 rows"):
        device.call("AdaLayerNorm", whole(x), whole(some(4, 8)), whole(some(4, 8)), None, None, 1e-5, out)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_norms_of_single_images(device: Device, layout: str) -> None:
    x, gamma, beta = some(2, 3, 4, 5), some(3, seed=1), some(3, seed=2)
    turned = x if layout == "NCHW" else np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    y, mean, variance = empty(*turned.shape), empty(2, 3), empty(2, 3)
    device.call("InstanceNorm", whole(turned), whole(gamma), whole(beta), layout, 1e-5, y, mean, variance)
    exact = F.instance_norm(wide(x), weight=wide(gamma), bias=wide(beta), eps=1e-5)
    close(y.after(), exact if layout == "NCHW" else exact.permute(0, 2, 3, 1))
    close(variance.after(), wide(x).var((2, 3), correction=0))
    with pytest.raises(Failed, match=r"format \[CHWN\]"):
        device.call("InstanceNorm", whole(turned), whole(gamma), whole(beta), "CHWN", 1e-5, y, mean, variance)


def test_group_norm_and_swish_backwards(device: Device) -> None:
    x, dy, gamma, beta = (some(*s, seed=k) for k, s in enumerate([(2, 6, 5)] * 2 + [(6,)] * 2))
    a, g, b = (wide(t).requires_grad_() for t in (x, gamma, beta))
    y = F.group_norm(a, 3, g, b, 1e-5)
    (y * torch.sigmoid(1.5 * y)).backward(wide(dy))
    rows = wide(x).reshape(6, -1)
    mean, rstd = rows.mean(-1), 1 / (rows.var(-1, correction=0) + 1e-5).sqrt()
    stats = [whole(t.numpy().astype(np.float32)) for t in (mean, rstd)]
    out = [empty(2, 6, 5), empty(6), empty(6)]
    given = (whole(dy), *stats, whole(x), whole(gamma), whole(beta), 3, "NCHW", 1.5, True, True)
    device.call("GroupNormSwishGrad", *given, *out)
    for made, exact in zip(out, (a.grad, g.grad, b.grad), strict=True):
        close(made.after(), exact)


# ---- losses


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("weighted", "smooth"), [(False, 0.0), (True, 0.2)])
def test_cross_entropy(device: Device, reduction: str, weighted: bool, smooth: float) -> None:
    x, weight = some(6, 5), np.abs(some(5, seed=1))
    target, up = np.array([0, 4, 2, -100, 1, 3]), some(*([6] if reduction == "none" else [1]), seed=2)
    a = wide(x).requires_grad_()
    w = wide(weight) if weighted else None
    exact = F.cross_entropy(
        a, torch.from_numpy(target), w, ignore_index=-100, reduction=reduction, label_smoothing=smooth
    )
    exact.backward(wide(up).reshape(exact.shape))
    loss, logs, out = empty(*up.shape), empty(6, 5), empty(6, 5)
    given = whole(weight) if weighted else None
    device.call(
        "CrossEntropyLoss",
        whole(x),
        whole(target),
        given,
        reduction,
        -100,
        smooth,
        0.0,
        False,
        loss,
        logs,
        None,
        None,
    )
    close(loss.after(), exact.detach().reshape(up.shape))
    close(logs.after(), a.detach().log_softmax(1))
    kept = whole(logs.after())
    device.call(
        "CrossEntropyLossGrad",
        whole(up),
        kept,
        whole(target),
        given,
        None,
        None,
        reduction,
        -100,
        smooth,
        0.0,
        out,
    )
    close(out.after(), a.grad)
    with pytest.raises(Failed, match=r"reduction \[most\] is none of mean, sum, none"):
        device.call(
            "CrossEntropyLoss",
            whole(x),
            whole(target),
            None,
            "most",
            -100,
            0.0,
            0.0,
            False,
            loss,
            logs,
            None,
            None,
        )


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_margins_of_several_labels(device: Device, reduction: int) -> None:
    x, target = some(3, 5), np.array([[1, 3, -1, 0, 0], [-1] * 5, [0, 1, 2, 3, 4]])
    how = ("none", "mean", "sum")[reduction]
    exact = F.multilabel_margin_loss(wide(x), torch.from_numpy(target), reduction=how)
    out, hit = empty(*exact.shape), empty(3, 5)
    device.call("MultilabelMarginLoss", whole(x), whole(target), reduction, out, hit)
    close(out.after(), exact)
    np.testing.assert_array_equal(hit.after(), [[0, 1, 0, 1, 0], [0] * 5, [1] * 5])


# ---- functions and cells


FUNCTIONS = {
    "Lgamma": (torch.lgamma, (0.1, -0.7, 3.2, 30.0)),
    "Digamma": (torch.digamma, (0.1, -0.7, 3.2, 30.0, -12.3)),
    "SquaredRelu": (lambda x: torch.relu(x) ** 2, (-1.0, 0.0, 2.0)),
    "Softsign": (F.softsign, (-1.0, 0.0, 2.0)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(device: Device, name: str) -> None:
    function, points = FUNCTIONS[name]
    x, out = np.array(points, np.float32), empty(len(points))
    device.call(name, whole(x), out)
    close(out.after(), function(wide(x)))


def test_functions_with_numbers(device: Device) -> None:
    x, y, out = some(4, 6), np.abs(some(4, 6, seed=1)), empty(4, 6)
    device.call("Xlog1py", whole(x), whole(y), out)
    close(out.after(), torch.special.xlog1py(wide(x), wide(y)))
    device.call("Shrink", whole(x), Scalar(0.5), Scalar(0.2), out)
    exact = np.where(x < -0.5, x + 0.2, np.where(x > 0.5, x - 0.2, 0))
    close(out.after(), exact)
    a = wide(x).requires_grad_()
    swish = a * torch.sigmoid(1.7 * a)
    swish.backward(wide(y))
    device.call("Swish", whole(x), Scalar(1.7), out)
    close(out.after(), swish)
    device.call("SwishBackward", whole(y), whole(x), Scalar(1.7), out)
    close(out.after(), a.grad)
    device.call("Swish", whole(x), None, out)
    close(out.after(), F.silu(wide(x)))
    half = empty(4, 3)
    for mode in ("none", "tanh"):
        device.call("GeluMul", whole(x), mode, half)
        close(half.after(), F.gelu(wide(x)[:, :3], approximate=mode) * wide(x)[:, 3:])
    device.call("FatreluMul", whole(x), whole(np.array([0.3], np.float32)), half)
    close(half.after(), F.threshold(wide(x)[:, :3], 0.3, 0) * wide(x)[:, 3:])
    with pytest.raises(Failed, match=r"approximate \[erf\] is none of none, tanh"):
        device.call("GeluMul", whole(x), "erf", half)


def test_a_cell_of_an_lstm(device: Device) -> None:
    x, h, c, b1, b2 = (some(*s, seed=k) for k, s in enumerate([(3, 16), (3, 16), (3, 4), (16,), (16,)]))
    a, cc, bias = (wide(t).requires_grad_() for t in (x + h, c, b1 + b2))
    i, g, f, o = (a + bias).chunk(4, -1)
    gates = torch.cat([i.sigmoid(), g.tanh(), f.sigmoid(), o.sigmoid()], -1)
    i, g, f, o = gates.chunk(4, -1)
    cy = f * cc + i * g
    hy = o * cy.tanh()
    out = [empty(3, 4), empty(3, 4), empty(3, 16)]
    device.call("ThnnFusedLstmCell", *map(whole, (x, h, c, b1, b2)), *out)
    for made, exact in zip(out, (hy, cy, gates), strict=True):
        close(made.after(), exact)
    dh, dc = some(3, 4, seed=6), some(3, 4, seed=7)
    torch.autograd.backward([hy, cy], [wide(dh), wide(dc)])
    back = [empty(3, 16), empty(3, 4), empty(16)]
    kept = whole(out[1].after()), whole(out[2].after())
    device.call("ThnnFusedLstmCellBackward", whole(dh), whole(dc), whole(c), *kept, True, *back)
    for made, exact in zip(back, (a.grad, cc.grad, bias.grad), strict=True):
        close(made.after(), exact)
