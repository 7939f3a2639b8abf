"""Slices, diagonals, chunks, circles, and rows by their numbers, against numpy and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .operators import DTYPES, Device, Failed, View, empty, some, views, whole

torch = pytest.importorskip("torch")
Array = np.ndarray[Any, Any]


def same(made: View, exact: Any) -> None:
    np.testing.assert_array_equal(made.after(), np.asarray(exact).reshape(made.part.shape))


def test_slices_of_axes(device: Device) -> None:
    for x in views(some(6, 7, 8)):
        out = empty(2, 7, 3)
        device.call("SliceV2", x, (1, -7), (5, 100), (0, 2), (2, 3), out)
        same(out, x.part[1:5:2, :, -7::3])
    with pytest.raises(Failed, match="a step of 0"):
        device.call("SliceV2", whole(some(6)), (1,), (5,), (0,), (0,), empty(4))


NONE, ALL = np.newaxis, slice(None)
STRIDED = {
    "plain": (((1, 0, 2), (5, 7, 8), (2, 1, 3)), (0, 0, 0, 0, 0), np.s_[1:5:2, :, 2:8:3]),
    "backwards": (((5, -1, 2), (0, -8, 8), (-2, -1, 3)), (0, 0, 0, 0, 0), np.s_[5:0:-2, ::-1, 2:8:3]),
    "masks": (((3, 2, 1), (4, 5, 6), (1, 1, 1)), (0b010, 0b101, 0, 0, 0), np.s_[3:, :5, 1:]),
    "ellipsis": (((1, 0, 2), (3, 0, 5), (1, 1, 1)), (0, 0, 0b010, 0, 0), np.s_[1:3, ..., 2:5]),
    "new": (((1, 0, 2), (3, 0, 5), (1, 1, 1)), (0, 0, 0, 0b010, 0), np.s_[1:3, NONE, 2:5]),
    "shrink": (((-1, 0, 2), (3, 2, 5), (1, 1, 1)), (0, 0, 0, 0, 0b101), np.s_[-1, 0:2, 2]),
    "all": (
        ((1, 0, 0, -2), (3, 0, 0, 5), (1, 1, 1, 1)),
        (0, 0, 0b0100, 0b0010, 0b1000),
        np.s_[1:3, NONE, ..., -2],
    ),
}


@pytest.mark.parametrize("name", STRIDED)
def test_strided_slices(device: Device, name: str) -> None:
    numbers, masks, place = STRIDED[name]
    for x in views(some(6, 7, 8)):
        exact = x.part[place]
        out = empty(*exact.shape)
        device.call("StridedSlice", x, *numbers, *masks, out)
        same(out, exact)


def test_pieces_and_diagonals(device: Device) -> None:
    x = some(3, 7)
    out = [empty(3, 3), empty(3, 3), empty(3, 1)]
    device.call("SplitTensor", whole(x), 3, 1, out)
    for made, exact in zip(out, (x[:, :3], x[:, 3:6], x[:, 6:]), strict=True):
        same(made, exact)
    for at in (-1, 0, 2):
        line = np.diagonal(x, at)
        one, two = empty(len(line)), empty(len(line) + abs(at), len(line) + abs(at))
        device.call("Diag", whole(x), at, one)
        same(one, line)
        device.call("Diag", whole(line.copy()), at, two)
        same(two, np.diag(line, at))
        flat = empty(21 + abs(at), 21 + abs(at))
        device.call("DiagFlat", whole(x), at, flat)
        same(flat, np.diagflat(x, at))
    rows = empty(3, 7)
    device.call("Flatten", whole(x.reshape(3, 7, 1)), 1, rows)
    same(rows, x)


def test_other_orders(device: Device) -> None:
    x = some(2, 6, 4)
    out = empty(4, 2, 6)
    device.call("ConfusionTranspose", whole(x), (2, 0, 1), (4, 2, 6), True, out)
    same(out, x.transpose(2, 0, 1))
    out = empty(4, 3, 4)
    device.call("ConfusionTranspose", whole(x), (1, 0, 2), (3, 4, 4), False, out)
    same(out, x.reshape(3, 4, 4).transpose(1, 0, 2))
    out = empty(2, 6, 4)
    device.call("ChannelShuffle", whole(x), 3, out)
    same(out, torch.nn.functional.channel_shuffle(torch.from_numpy(x)[..., None], 3))
    with pytest.raises(Failed, match="6 channels are not in 4 groups"):
        device.call("ChannelShuffle", whole(x), 4, out)


@pytest.mark.parametrize("axis", [0, 1])
def test_chunks_side_by_side(device: Device, axis: int) -> None:
    tensors = [some(*([2] * axis), n, 3, seed=n) for n in (5, 4, 1)]
    exact = torch._chunk_cat([torch.from_numpy(t) for t in tensors], axis, 2)
    out = empty(*exact.shape)
    device.call("ChunkCat", [whole(t) for t in tensors], axis, 2, out)
    same(out, exact)


@pytest.mark.parametrize(("axis", "size", "step"), [(0, 2, 1), (1, 3, 2), (-1, 2, 3)])
def test_windows_backwards(device: Device, axis: int, size: int, step: int) -> None:
    x = torch.zeros(4, 7, 5, requires_grad=True)
    g = torch.from_numpy(some(*x.unfold(axis, size, step).shape))
    x.unfold(axis, size, step).backward(g)
    out = empty(4, 7, 5)
    device.call("UnfoldGrad", whole(g.numpy()), (4, 7, 5), axis, size, step, out)
    np.testing.assert_allclose(out.after(), x.grad, rtol=1e-6)


@pytest.mark.parametrize("pads", [(1, 2, 2, 0), (0, -1, 3, 1)])
def test_circles(device: Device, pads: tuple[int, ...]) -> None:
    x = torch.from_numpy(some(2, 3, 4, 5)).requires_grad_()
    positive = all(p >= 0 for p in pads)
    exact = torch.nn.functional.pad(x, pads, mode="circular")
    out, back = empty(*exact.shape), empty(2, 3, 4, 5)
    device.call("CircularPad2d", whole(x.detach().numpy()), pads, out)
    same(out, exact.detach())
    if positive:
        g = some(*exact.shape, seed=1)
        exact.backward(torch.from_numpy(g))
        device.call("CircularPad2dBackward", whole(g), whole(x.detach().numpy()), pads, back)
        np.testing.assert_allclose(back.after(), x.grad, rtol=1e-5, atol=1e-6)


def test_rows_are_taken(device: Device) -> None:
    for x in views(some(4, 5, 6)):
        index = np.array([[1, -1], [3, 0]])
        out = empty(2, 6)
        device.call("GatherNd", x, whole(index), True, out)
        same(out, x.part[index[:, 0], index[:, 1]])
        batched, out = np.array([[0, 2], [4, 4], [1, -1], [3, 3]], np.int32), empty(4, 2, 6)
        device.call("GatherV3", x, 1, whole(batched), 1, 0, out)
        same(out, np.stack([x.part[b, batched[b]] for b in range(4)]))
        out = empty(4, 2, 2, 6)
        device.call("GatherV3", x, 1, whole(np.array([[0, 2], [4, 1]])), 0, 0, out)
        same(out, x.part[:, [[0, 2], [4, 1]]])
    with pytest.raises(Failed, match="index -1 of an axis of 5"):
        device.call("GatherNd", whole(some(4, 5)), whole(np.array([[1, -1]])), False, empty(1))


CHANGED = {
    "TfScatterAdd": np.add,
    "ScatterMul": np.multiply,
    "ScatterDiv": np.divide,
    "ScatterMax": np.maximum,
    "ScatterMin": np.minimum,
}


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_rows_are_changed(device: Device, name: str, dtype: str) -> None:
    x, up = (some(5, 3) * 20).astype(DTYPES[dtype]), (some(2, 2, 3, seed=1) * 9).astype(DTYPES[dtype])
    up[np.abs(up) < 1] = 2
    index, made = np.array([[3, 0], [3, 4]], np.int32), whole(x)
    given = (made, whole(index), whole(up)) + (() if name == "TfScatterAdd" else (False,))
    device.call(name, *given)
    exact = x.astype(np.float64)
    for row, u in zip(index.reshape(-1), up.reshape(-1, 3).astype(np.float64), strict=True):
        exact[row] = CHANGED[name](exact[row], u)
        if dtype == "int32":
            exact[row] = np.trunc(exact[row])
    rtol = 2e-3 if dtype == "float16" else 1e-6
    np.testing.assert_allclose(made.after().astype(np.float64), exact, rtol=rtol)
    with pytest.raises(Failed, match="row 5 of 5"):
        device.call(name, made, whole(np.array([5])), whole(up[:1, :1]), *given[3:])


@pytest.mark.parametrize("order", [1.0, 2.0])
def test_rows_are_shortened(device: Device, order: float) -> None:
    x = some(5, 3) * 2
    made = whole(x)
    device.call("EmbeddingRenorm", made, whole(np.array([3, 0, 3])), 1.0, order)
    exact = torch.embedding_renorm_(torch.from_numpy(x.copy()), torch.tensor([3, 0, 3]), 1.0, order)
    np.testing.assert_allclose(made.after(), exact, rtol=1e-5)
