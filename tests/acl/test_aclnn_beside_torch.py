"""Operators of two phases beside PyTorch on the CPU: losses of sequences, bags of rows, norms of parts."""

from __future__ import annotations

import ctypes
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .operators import Device, Failed, Scalar, empty, views, whole

torch: Any = pytest.importorskip("torch")


def close(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(got, wanted.detach().numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("zero", [False, True])
def test_ctc(device: Device, flat: bool, zero: bool) -> None:
    """Letters that repeat, an empty target, sequences of fewer steps, and one that can't be spelled."""
    torch.manual_seed(3)
    scores = torch.randn(7, 5, 6, requires_grad=True)
    targets = torch.tensor([[1, 2, 2, 3], [4, 4, 4, 4], [5, 1, 0, 0], [1, 0, 0, 0], [2, 2, 2, 2]]) % 6
    times, lengths = (7, 7, 5, 6, 3 if zero else 7), (4, 2, 2, 0, 4)
    targets[2:4] = targets[2:4].clamp(min=1)
    given = torch.cat([row[:n] for row, n in zip(targets, lengths, strict=True)]) if flat else targets
    logs = scores.log_softmax(2).detach().requires_grad_()
    wanted = torch.nn.functional.ctc_loss(logs, given, times, lengths, reduction="none", zero_infinity=zero)
    gradient = torch.linspace(0.5, 2, 5)
    wanted.backward(gradient)
    array = logs.detach().numpy()
    for x in views(array):
        inputs = (x, whole(given.numpy()), times, lengths)
        device.call("CtcLoss", *inputs, 0, zero, loss := empty(5), alpha := empty(5, 7, 9))
        close(loss.after(), wanted)
        kept = (whole(loss.after()), whole(alpha.after()), 0, zero)
        device.call("CtcLossBackward", whole(gradient.numpy()), *inputs, *kept, back := empty(7, 5, 6))
        close(back.after(), logs.grad)
    with pytest.raises(Failed, match=r"letter 0 (of target 0 )?is no class"):
        device.call(
            "CtcLoss",
            whole(array),
            whole(given.numpy() + 9),
            times,
            lengths,
            0,
            zero,
            empty(5),
            empty(5, 7, 9),
        )


@pytest.mark.parametrize(
    "lengths", [(2**62, 2**62, 2), (3, 2**63 - 1, 2), (4, 4, 4), (-1, 3, 3), (2, 2**32, 2)]
)
@pytest.mark.parametrize("flat", [False, True])
def test_lengths_of_targets_that_arent_there(device: Device, flat: bool, lengths: tuple[int, ...]) -> None:
    """Their sum may overflow, or be few though one of them is not."""
    logs = torch.randn(4, 3, 5).log_softmax(2).numpy()
    targets = np.ones((9,) if flat else (3, 3), np.int64)
    given = (whole(logs), whole(targets), (4, 4, 4), lengths)
    with pytest.raises(Failed, match=r"target \d has -?\d+ letters of \d"):
        device.call("CtcLoss", *given, 0, False, empty(3), empty(3, 4, 9))
    kept = (whole(np.ones(3, np.float32)), whole(np.ones((3, 4, 9), np.float32)), 0, False)
    with pytest.raises(Failed, match=r"target \d has -?\d+ letters of \d"):
        device.call("CtcLossBackward", whole(np.ones(3, np.float32)), *given, *kept, empty(4, 3, 5))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [False, True])
def test_bags_of_rows(device: Device, mode: str, last: bool) -> None:
    """An empty bag, one of the padding alone, and one that repeats a row."""
    table = torch.randn(6, 3)
    index, offsets = (
        torch.tensor([1, 5, 1, 2, 2, 0, 4]),
        torch.tensor([0, 3, 3, 5, 7] if last else [0, 3, 3, 5]),
    )
    number = ("sum", "mean", "max").index(mode)
    weights = torch.rand(7) if mode == "sum" else None
    for padding in (-1, 2):
        wanted, _, sizes, largest = torch._embedding_bag(
            table, index, offsets, False, number, False, weights, last, padding
        )
        out, of, size, most = (
            empty(4, 3),
            empty(7, dtype=np.int64),
            empty(4, dtype=np.int64),
            empty(4, 3, dtype=np.int64),
        )
        given = None if weights is None else whole(weights.numpy())
        before = (whole(table.numpy()), whole(index.numpy()), whole(offsets.numpy()), False, number, False)
        device.call("EmbeddingBag", *before, given, last, padding, out, of, size, most)
        close(out.after(), wanted)
        np.testing.assert_array_equal(of.after(), [0, 0, 0, 2, 2, 3, 3])
        if mode == "max":
            np.testing.assert_array_equal(most.after()[[0, 3]], largest[[0, 3]])
        if mode == "mean":
            np.testing.assert_array_equal(size.after(), sizes[:4])


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_bags_of_rows_with_values_that_are_no_numbers(device: Device, mode: int) -> None:
    table = torch.tensor([[math.nan, 1], [2, math.nan], [3, -math.inf], [math.inf, math.nan], [-1, 7]])
    index = torch.tensor([list(itertools.permutations(range(5), 3))]).flatten()
    offsets = torch.arange(0, len(index), 3)
    bags = len(offsets)
    wanted, _, _, largest = torch._embedding_bag(table, index, offsets, False, mode)
    out, bag, size = (empty(bags, 2), empty(len(index), dtype=np.int64), empty(bags, dtype=np.int64))
    most = empty(bags, 2, dtype=np.int64)
    given = (whole(table.numpy()), whole(index.numpy()), whole(offsets.numpy()), False, mode, False, None)
    device.call("EmbeddingBag", *given, False, -1, out, bag, size, most)
    close(out.after(), wanted)
    if mode == 2:
        np.testing.assert_array_equal(most.after(), largest)


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, math.inf])
def test_norms_of_parts(device: Device, p: float) -> None:
    x = torch.randn(4, 3, 5)
    x[1] *= 0.01
    for dim in (0, 1, -1):
        wanted = torch.renorm(x, p, dim, 1.5)
        for view in views(x.numpy()):
            device.call("Renorm", view, Scalar(p), dim, Scalar(1.5), out := empty(4, 3, 5))
            close(out.after(), wanted)
            device.call("InplaceRenorm", view, Scalar(p), dim, Scalar(1.5))
            close(view.after(), wanted)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 2.5, math.inf])
@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_distances_of_pairs(device: Device, p: float, rows: int) -> None:
    x = torch.randn(rows, 3)
    wanted = torch.pdist(x, p)
    device.call("Pdist", whole(x.numpy()), ctypes.c_float(p), out := empty(len(wanted)))
    close(out.after(), wanted)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, math.inf])
def test_distances_of_rows_in_batches(device: Device, p: float) -> None:
    for a, b in (((4, 3), (5, 3)), ((2, 1, 4, 3), (6, 5, 3)), ((0, 3), (5, 3)), ((2, 4, 0), (1, 3, 0))):
        x, y = torch.randn(a), torch.randn(b)
        wanted = torch.cdist(x, y, p)
        for view in views(x.numpy()):
            device.call("Cdist", view, whole(y.numpy()), ctypes.c_float(p), 0, out := empty(*wanted.shape))
            close(out.after(), wanted)
    hard = torch.tensor([[math.nan, 1.0], [math.inf, 2.0], [0.5, -math.inf], [1.0, 2.0]])
    wanted = torch.pdist(hard, p)
    device.call("Pdist", whole(hard.numpy()), ctypes.c_float(p), out := empty(len(wanted)))
    close(out.after(), wanted)


@pytest.mark.parametrize("name", ["Pdist", "Cdist"])
def test_distances_take_no_memory_but_their_own(device: Device, name: str) -> None:
    rows, width = 700, 100  # a buffer of all differences has 98 or 196 MB
    x = np.random.default_rng(0).random((rows, width), np.float32)
    out = empty(rows * (rows - 1) // 2) if name == "Pdist" else empty(rows, rows)
    given = (whole(x), ctypes.c_float(2)) if name == "Pdist" else (whole(x), whole(x), ctypes.c_float(2), 0)
    before = peak_memory(again=True)
    device.call(name, *given, out)
    assert peak_memory() - before < 30e6
    rest = torch.from_numpy(x).double()
    close(out.after(), torch.pdist(rest) if name == "Pdist" else torch.cdist(rest, rest))


def peak_memory(again: bool = False) -> float:
    """The most bytes this process has held; `again`: from now on."""
    if again:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024.0 * int(status.partition("VmHWM:")[2].split()[0])


@pytest.mark.parametrize("invert", [False, True])
def test_elements_that_are_a_number(device: Device, invert: bool) -> None:
    x = torch.tensor([[1.0, 2, math.nan], [3, 2, math.inf]])
    for test in (2, math.inf, 7):
        wanted = torch.isin(x, float(test), invert=invert)
        out = empty(2, 3, dtype=np.bool_)
        device.call("IsInTensorScalar", whole(x.numpy()), Scalar(float(test)), False, invert, out)
        np.testing.assert_array_equal(out.after(), wanted)
