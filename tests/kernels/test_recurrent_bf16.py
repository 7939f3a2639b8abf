"""The recurrent kernel with weights in bfloat16 pairs, on every ISA level, against float64 of the same
rounded operands.

A step's reference begins with the state that the kernel itself gave before, rounded as ml_dtypes rounds:
otherwise a state next to the middle of two bfloat16 would be rounded to one here and to the other there.
r h of GRU is made within a step; where it may be rounded either way, the bound has room for both. Beyond
that the bound is test_recurrent_kernel's, since products of two bfloat16 are exact in float32.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, Pairs32, call

from ascend_ep.compiler.lower.recurrent import GATES, KINDS

BOUND = 4e-6
Arrays = dict[str, np.ndarray | None]


@dataclass
class Case:
    kind: str
    steps: int
    batch: int
    hidden: int
    directions: int = 1
    reset_after: int = 0
    coupled: int = 0
    extras: bool = False  # lengths, and of LSTM peepholes
    values: Arrays = field(init=False)

    def __post_init__(self) -> None:
        random, gates = np.random.default_rng(self.hidden), GATES[self.kind] * self.hidden
        d, b, h = self.directions, self.batch, self.hidden
        shapes = {"x": (self.steps, b, d * gates), "r": (d, h, gates), "h0": (d, b, h), "c0": (d, b, h)}
        shapes |= {"bias": (d, h), "hole": (d, 3 * h)}
        made: Arrays = {n: random.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
        made["r"] *= np.float32(h**-0.5)
        made["lengths"] = random.integers(0, self.steps + 1, b).astype(np.int32) if self.extras else None
        made["bias"] = made["bias"] if self.reset_after else None
        made["hole"] = made["hole"] if self.extras and self.kind == "LSTM" else None
        made["c0"] = made["c0"] if self.kind == "LSTM" else None
        self.values = made

    def run(self, isa: int | None = None, threads: int = 2) -> list[np.ndarray]:
        """y, h and of LSTM c; a second direction runs backwards."""
        v, lstm = self.values, self.kind == "LSTM"
        r = v["r"]
        assert r is not None
        cut = 2 * self.hidden if self.kind == "GRU" else r.shape[2]
        weights = [Pairs32(np.ascontiguousarray(p)) if p.size else None for p in (r[..., :cut], r[..., cut:])]
        state = (self.directions, self.batch, self.hidden)
        outs = [(np.float32, (self.steps, *state)), (np.float32, state), (np.float32, state)]
        ints = [KINDS[self.kind], self.reset_after, self.coupled]
        for d in range(self.directions):
            ints += [d, *([1, 0, 0] if self.kind == "RNN" else [0, 1, 1])]
        floats = [np.inf] + [0.0] * 6 * self.directions
        ins = [v["x"], *weights, v["bias"], v["lengths"], v["h0"], v["c0"], v["hole"]]
        return call("recurrent", ins, outs[: 2 + lstm], ints, floats, isa, threads)

    def check(self, results: list[np.ndarray]) -> None:
        y, last, *cells = results
        for d in range(self.directions):
            c, seen = self._check_direction(d, y[:, d])
            np.testing.assert_array_equal(last[d], seen)
            for cell in cells:
                near(cell[d], c, 0)

    def _check_direction(self, d: int, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Every step; the cells, and the state that the last step must leave."""
        v, order = self.values, range(self.steps)
        lengths = v["lengths"] if v["lengths"] is not None else np.full(self.batch, max(self.steps, 1))
        h, c = (np.zeros((self.batch, self.hidden)) if a is None else a[d] for a in (v["h0"], v["c0"]))
        h, c = (np.where(lengths[:, None] > 0, a, 0) for a in (h, c))
        for t in reversed(order) if d else order:
            state, cell, slack = self._step(d, t, h, c)
            on = (t < lengths)[:, None]
            near(y[t], np.where(on, state, 0), slack)
            h, c = np.where(on, y[t], h), np.where(on, cell, c)
        return c, h

    def _step(
        self, d: int, t: int, h: np.ndarray, c: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        v, n, zero = self.values, self.hidden, np.zeros(())
        assert v["x"] is not None
        assert v["r"] is not None
        width = GATES[self.kind] * n
        x, r = v["x"][t, :, d * width : (d + 1) * width].astype(float), rounded(v["r"][d])
        if self.kind == "RNN":
            return np.tanh(x + rounded(h) @ r), c, zero
        if self.kind == "LSTM":
            return (*self._lstm(d, x + rounded(h) @ r, c), zero)
        z, reset = np.split(sigmoid(x[:, : 2 * n] + rounded(h) @ r[:, : 2 * n]), 2, axis=1)
        if self.reset_after:
            assert v["bias"] is not None
            product, slack = reset * (rounded(h) @ r[:, 2 * n :] + v["bias"][d]), zero
        else:
            low, high = (rounded(reset * h * (1 + e)) for e in (-1e-6, 1e-6))
            product, slack = low @ r[:, 2 * n :], np.abs(high - low) @ np.abs(r[:, 2 * n :])
        return z * h + (1 - z) * np.tanh(x[:, 2 * n :] + product), c, slack

    def _lstm(self, d: int, sums: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        i, o, f, g = np.split(sums, 4, axis=1)
        hole = self.values["hole"]
        pi, po, pf = (0.0, 0.0, 0.0) if hole is None else np.split(hole[d].astype(float), 3)
        i = sigmoid(i + pi * c)
        after = (1 - i if self.coupled else sigmoid(f + pf * c)) * c + i * np.tanh(g)
        return sigmoid(o + po * after) * np.tanh(after), after


def rounded(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def near(got: np.ndarray, wanted: np.ndarray, slack: np.ndarray | float) -> None:
    bound = BOUND * max(1.0, np.abs(wanted).max(initial=0)) + slack
    assert (np.abs(got - wanted) <= bound).all()


@each_isa
@pytest.mark.parametrize("kind", KINDS)
def test_sizes(isa: int, kind: str) -> None:
    for steps, batch, hidden, directions in (
        (3, 1, 1, 1), (4, 2, 15, 2), (3, 5, 17, 1), (2, 9, 33, 2), (1, 3, 64, 1), (0, 2, 8, 1), (3, 0, 8, 2),
        (3, 1, 130, 1),
    ):  # fmt: skip
        case = Case(kind, steps, batch, hidden, directions)
        case.check(case.run(isa))


@each_isa
def test_forms(isa: int) -> None:
    for kind, options in (
        ("GRU", {"reset_after": 1}),
        ("GRU", {"reset_after": 1, "extras": True}),
        ("LSTM", {"extras": True}),
        ("LSTM", {"extras": True, "coupled": 1}),
        ("RNN", {"extras": True}),
    ):
        case = Case(kind, 5, 3, 19, 2, **options)
        case.check(case.run(isa))


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(kind: str) -> None:
    """Rows are shared among threads, or of few rows the columns of a step's product."""
    for batch, hidden in ((6, 40), (1, 725), (3, 725), (7, 725)):
        case = Case(kind, 4, batch, hidden)
        alone = case.run(threads=1)
        for threads in (2, 5):
            for one, many in zip(alone, case.run(threads=threads), strict=True):
                np.testing.assert_array_equal(one, many)
        case.check(alone)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_does_not_see_the_others(kind: str) -> None:
    case = Case(kind, 4, 3, 21)
    together = case.run()
    assert case.values["x"] is not None
    case.values["x"][2:, 2] = np.nan  # from the third step on
    spoilt = case.run()
    assert np.isnan(spoilt[0][2:, 0, 2]).all()
    for one, other in zip(together, spoilt, strict=True):
        np.testing.assert_array_equal(one[..., :2, :], other[..., :2, :])
    alone = Case(kind, 4, 1, 21)
    alone.values |= {
        n: a[:, :1].copy() for n, a in case.values.items() if n in ("x", "h0", "c0") and a is not None
    }
    alone.values["r"] = case.values["r"]
    for one, many in zip(alone.run(), together, strict=True):
        np.testing.assert_array_equal(one[..., 0, :], many[..., 0, :])


def test_weights_of_two_types() -> None:
    """Both parts of GRU's weights are pairs, or none; pairs lie in panels."""
    case = Case("GRU", 1, 1, 8)
    v = case.values
    assert v["r"] is not None
    first, second = (np.ascontiguousarray(p) for p in (v["r"][..., :16], v["r"][..., 16:]))
    outs = [(np.float32, (1, 1, 1, 8)), (np.float32, (1, 1, 8))]
    for weights in ((Pairs32(first), second), (first.astype(ml_dtypes.bfloat16), Pairs32(second))):
        with pytest.raises(KernelError):
            call("recurrent", [v["x"], *weights], outs, [1, 0, 0, 0, 0, 1, 1], [np.inf] + [0.0] * 6)
