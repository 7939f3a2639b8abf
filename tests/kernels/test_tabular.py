"""squared_distances, pair_votes and lookup on every ISA level, against numpy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

rng = np.random.default_rng(3)


@each_isa
def test_squared_distances(isa: int) -> None:
    """Of near neighbours far from 0 too, relative to the distance itself: n additions of rounded squares."""
    for rows, n, vectors in ((0, 3, 2), (1, 1, 1), (7, 5, 64), (9, 13, 131), (3, 0, 4)):
        x, v = (rng.normal(size=shape).astype(np.float32) + 100 for shape in ((rows, n), (n, vectors)))
        (got,) = call("squared_distances", [x, v], [(np.float32, (rows, vectors))], isa=isa)
        want = ((x[:, :, None].astype(np.float64) - v) ** 2).sum(1)
        np.testing.assert_allclose(got, want, rtol=(n + 4) * 2.0**-24, atol=0)
    x = np.array([[np.nan, 0], [np.inf, 1]], np.float32)
    (got,) = call("squared_distances", [x, np.ones((2, 3), np.float32)], [(np.float32, (2, 3))], isa=isa)
    assert np.isnan(got[0]).all()
    assert np.isinf(got[1]).all()


def votes(sums: np.ndarray, classes: int) -> np.ndarray:
    counted = np.zeros((len(sums), classes), int)
    pair = 0
    for i in range(classes):
        for j in range(i + 1, classes):
            np.add.at(counted, (range(len(sums)), np.where(sums[:, pair] > 0, i, j)), 1)
            pair += 1
    return counted.argmax(1)


@each_isa
@pytest.mark.parametrize("classes", [2, 3, 6])
def test_votes(isa: int, classes: int) -> None:
    pairs, labels = classes * (classes - 1) // 2, rng.integers(-9, 9, classes)
    for rows in (0, 1, 50):
        sums = rng.normal(size=(rows, pairs)).astype(np.float32)
        outputs = [(np.float32, (rows, pairs)), (np.int64, (rows,))]
        scores, chosen = call("pair_votes", [sums, labels], outputs, isa=isa)
        np.testing.assert_array_equal(scores, sums)
        np.testing.assert_array_equal(chosen, labels[votes(sums, classes)])


@each_isa
def test_coupled_pairs(isa: int) -> None:
    """Pairs that agree with probabilities of classes give these; without slope all are as probable."""
    p = rng.dirichlet(np.ones(4), 20)
    odds = [np.log(p[:, i] / p[:, j]) for i in range(4) for j in range(i + 1, 4)]
    sums = np.stack(odds, 1).astype(np.float32)
    slopes, offsets = np.full(6, -1, np.float32), np.zeros(6, np.float32)
    outputs = [(np.float32, (20, 4)), (np.int64, (20,))]
    scores, _ = call("pair_votes", [sums, np.arange(4), slopes, offsets], outputs, isa=isa)
    np.testing.assert_allclose(
        scores, p, atol=0.005
    )  # the iteration stops at 0.005 / classes of its gradient
    np.testing.assert_allclose(scores.sum(1), 1, rtol=1e-6)
    scores, _ = call("pair_votes", [sums * np.nan, np.arange(4), slopes, offsets], outputs, isa=isa)
    np.testing.assert_array_equal(scores, 0.25)


@each_isa
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int32, np.int64])
def test_lookup(isa: int, dtype: type) -> None:
    for count, shape in ((0, (3,)), (1, (2, 2)), (9, (5, 7)), (100, (0, 4))):
        keys = np.sort(rng.choice(np.arange(-80, 80), count, replace=False)).astype(dtype)
        x = rng.integers(-90, 90, shape).astype(dtype)
        if dtype in (np.float32, np.float64) and count and x.size:
            keys[-1], x.flat[0] = np.nan, np.nan
        for kind in (np.float32, np.int64, np.int16):
            values, default = rng.integers(0, 99, count).astype(kind), np.array([-1], kind)
            known = {("nan" if k != k else k.item()): v for k, v in zip(keys, values, strict=True)}
            want = [known.get("nan" if e != e else e.item(), -1) for e in x.flat]
            (got,) = call("lookup", [x, keys, values, default], [(kind, shape)], isa=isa)
            np.testing.assert_array_equal(got.reshape(-1), np.array(want, kind))


def test_shapes_that_do_not_fit_are_refused() -> None:
    f, labels = np.zeros((2, 3), np.float32), np.arange(3)
    for op, inputs, outputs in [
        ("squared_distances", [f, f], [(np.float32, (2, 3))]),
        ("pair_votes", [f[:, :2], labels], [(np.float32, (2, 2)), (np.int64, (2,))]),
        ("pair_votes", [f, labels, f[0, :2], f[0]], [(np.float32, (2, 3)), (np.int64, (2,))]),
        ("lookup", [f, f[0], labels[:2], labels[:1]], [(np.int64, (2, 3))]),
        ("lookup", [f, labels, labels, labels[:1]], [(np.int64, (2, 3))]),
    ]:
        with pytest.raises(KernelError):
            call(op, inputs, outputs)
