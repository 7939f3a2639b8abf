"""Operators of two phases beside PyTorch on the CPU: losses of sequences, bags of rows, norms of parts."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from .operators import Device, Failed, Scalar, views, whole

torch: Any = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    made = Device()
    yield made
    made.close()


def empty(*shape: int, dtype: type = np.float32) -> Any:
    return whole(np.full(shape, 77, dtype))


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


@pytest.mark.parametrize("invert", [False, True])
def test_elements_that_are_a_number(device: Device, invert: bool) -> None:
    x = torch.tensor([[1.0, 2, math.nan], [3, 2, math.inf]])
    for test in (2, math.inf, 7):
        wanted = torch.isin(x, float(test), invert=invert)
        out = empty(2, 3, dtype=np.bool_)
        device.call("IsInTensorScalar", whole(x.numpy()), Scalar(float(test)), False, invert, out)
        np.testing.assert_array_equal(out.after(), wanted)
