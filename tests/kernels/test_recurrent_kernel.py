"""The recurrent kernel on every ISA level: odd sizes, tails, threads, rows on their own, NaN, wrong operands.

The input's sums are given, so the float64 reference is the ONNX operator with W the identity. Bound as in
tests/lowering/test_recurrent.py; sums have up to 300 terms here, hence twice that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, Panel32, Quads32, call
from onnx import helper

from ascend_ep.compiler.lower.recurrent import GATES, KINDS
from ascend_ep.graph.reference import reference_run

BOUND = 4e-6


def draw(kind: str, steps: int, batch: int, hidden: int, directions: int = 1) -> dict[str, np.ndarray]:
    random, gates = np.random.default_rng(hidden), GATES[kind] * hidden
    shapes = {
        "x": (steps, batch, directions * gates),
        "r": (directions, gates, hidden),
        "h0": (directions, batch, hidden),
    }
    made = {n: random.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    made["r"] *= hidden**-0.5
    return made


def run(
    kind: str,
    values: dict[str, np.ndarray],
    isa: int | None = None,
    threads: int = 2,
    packed: bool = True,
    lengths: np.ndarray | None = None,
    reset_after: int = 0,
) -> list[np.ndarray]:
    """y, h and of LSTM c; a second direction runs backwards."""
    r, x = values["r"], values["x"]
    directions, _, hidden = r.shape
    cut = 2 * hidden if kind == "GRU" else r.shape[1]
    parts = [np.ascontiguousarray(p) for p in (r[:, :cut], r[:, cut:])]
    weights = [(Panel32(p.swapaxes(1, 2)) if packed else p) if p.size else None for p in parts]
    state = (directions, x.shape[1], hidden)
    outs = [(np.float32, (x.shape[0], *state)), (np.float32, state), (np.float32, state)]
    activations = [1, 0, 0] if kind == "RNN" else [0, 1, 1]
    ints = [KINDS[kind], reset_after, 0]
    for d in range(directions):
        ints += [d, *activations]
    floats = [np.inf] + [0.0] * 6 * directions
    ins = [x, *weights, None, lengths, values["h0"]]
    return call("recurrent", ins, outs[: 3 if kind == "LSTM" else 2], ints, floats, isa, threads)


def reference(kind: str, values: dict[str, np.ndarray], reset_after: int = 0) -> list[np.ndarray]:
    directions, gates, _ = values["r"].shape
    x, outputs = values["x"], ["y", "h", "c"][: 3 if kind == "LSTM" else 2]
    eye = np.eye(directions * gates, dtype=np.float32).reshape(directions, gates, directions * gates)
    options = {"linear_before_reset": reset_after} if kind == "GRU" else {}
    direction = "bidirectional" if directions == 2 else "forward"
    node = helper.make_node(kind, ["x", "w", "r", "", "", "h0"], outputs, direction=direction, **options)
    feeds = {"x": x, "w": eye, "r": values["r"], "h0": values["h0"]}
    inputs = [helper.make_tensor_value_info(n, 1, a.shape) for n, a in feeds.items()]
    results = [helper.make_tensor_value_info(n, 1, None) for n in outputs]
    graph = helper.make_graph([node], "layer", inputs, results)
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
    return list(reference_run(model, feeds).values())


def close(results: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for got, want in zip(results, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=BOUND * max(1.0, np.abs(want).max(initial=0)))


@each_isa
@pytest.mark.parametrize("kind", KINDS)
def test_sizes(isa: int, kind: str) -> None:
    for steps, batch, hidden, directions in (
        (3, 1, 1, 1), (4, 2, 15, 2), (3, 5, 17, 1), (2, 9, 33, 2), (1, 3, 64, 1), (0, 2, 8, 1), (3, 0, 8, 2),
    ):  # fmt: skip
        values = draw(kind, steps, batch, hidden, directions)
        wanted = reference(kind, values)
        close(run(kind, values, isa), wanted)
        close(run(kind, values, isa, packed=False), wanted)


@each_isa
def test_reset_after(isa: int) -> None:
    values = draw("GRU", 4, 3, 19, 2)
    close(run("GRU", values, isa, reset_after=1), reference("GRU", values, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(kind: str) -> None:
    """Rows are shared among threads, or of few rows the columns of a step's product."""
    for batch, hidden in ((6, 40), (1, 515), (2, 515), (3, 513), (6, 515), (7, 513)):
        values = draw(kind, 6, batch, hidden)
        alone = run(kind, values, threads=1)
        for threads in (2, 5):
            for one, many in zip(alone, run(kind, values, threads=threads), strict=True):
                np.testing.assert_array_equal(one, many)
    close(alone, reference(kind, values))


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_does_not_see_the_others(kind: str) -> None:
    values = draw(kind, 5, 4, 21)
    together = run(kind, values)
    values["x"][2:, 3, :] = np.nan  # from the third step on
    spoilt = run(kind, values)
    assert np.isnan(spoilt[0][2:, 0, 3]).all()
    assert np.isfinite(spoilt[0][:2]).all()
    for row in range(3):
        alone = run(kind, {n: a if n == "r" else a[:, row : row + 1].copy() for n, a in values.items()})
        for one, many, with_nan in zip(alone, together, spoilt, strict=True):
            np.testing.assert_array_equal(one[..., 0, :], many[..., row, :])
            np.testing.assert_array_equal(one[..., 0, :], with_nan[..., row, :])


def test_infinite_sums_saturate() -> None:
    values = draw("LSTM", 1, 1, 16)
    values["x"][:] = np.inf
    _, h, c = run("LSTM", values)
    np.testing.assert_array_equal(c, 1)  # all gates are 1: c = 0 * 1 + 1 * 1
    np.testing.assert_allclose(h, np.tanh(1.0), rtol=1e-6)


def test_wrong_lengths_and_operands() -> None:
    values = draw("LSTM", 3, 2, 8)
    for wrong in ([0, 4], [-1, 1]):
        with pytest.raises(KernelError, match=r"the length .* of row .* is outside 0 to 3"):
            run("LSTM", values, lengths=np.array(wrong, np.int32))
    for name, shape, text in (
        ("r", (1, 24, 8), "R doesn't fit"),
        ("x", (3, 2, 31), "the columns of another layer"),
        ("h0", (1, 3, 8), "an initial state is"),
    ):
        with pytest.raises(KernelError, match=text):
            run("LSTM", values | {name: np.zeros(shape, np.float32)})


def byte_layer(batch: int, hidden: int, directions: int = 1) -> dict[str, np.ndarray]:
    random, gates = np.random.default_rng(hidden), 4 * hidden
    made = draw("LSTM", 1, batch, hidden, directions)
    made["r"] = random.integers(-127, 128, (directions, hidden, gates)).astype(np.int8)
    made["bias"] = random.standard_normal((directions, gates)).astype(np.float32)
    made["scale"] = (random.random((directions, gates)) / 128 / hidden**0.5).astype(np.float32)
    made["zero"] = random.integers(-9, 9, (directions, gates)).astype(np.int8)
    made["c0"] = random.standard_normal(made["h0"].shape).astype(np.float32)
    return made


def run_bytes(v: dict[str, np.ndarray], isa: int | None = None, threads: int = 2, zero: bool = True) -> Any:
    state = v["h0"].shape
    outs = [(np.float32, (v["x"].shape[0], *state)), (np.float32, state), (np.float32, state)]
    ints, floats = [2, 0, 0, *[0, 0, 1, 1] * state[0]], [np.inf] + [0.0] * 6 * state[0]
    sums = v["r"].sum(1, dtype=np.int32)
    ins = [v["x"], Quads32(v["r"]), None, v["bias"], None, v["h0"], v["c0"], None, sums, v["scale"]]
    return call("recurrent", [*ins, *([v["zero"]] if zero else [])], outs, ints, floats, isa, threads)


def byte_reference(v: dict[str, np.ndarray]) -> list[np.ndarray]:
    """One step in float64; rows of up to 4 have one scale where the state is larger than 256."""
    h, c, hidden = v["h0"].astype(float), v["c0"].astype(float), v["h0"].shape[2]
    together = 1 < h.shape[1] <= 4 and hidden > 256
    axes = (1, 2) if together else (2,)
    low, high = (f(h, axis=axes, keepdims=True, initial=0) for f in (np.min, np.max))
    scale = np.where(high > low, (high - low) / 255, 1)
    quantised = np.rint(h / scale) * scale
    weights = (v["r"].astype(float) - v["zero"][:, None]) * v["scale"][:, None]
    x = v["x"].reshape(h.shape[1], len(h), -1).swapaxes(0, 1)
    i, o, f, g = np.split(x + quantised @ weights + v["bias"][:, None], 4, axis=-1)
    after = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
    state = np.tanh(after) / (1 + np.exp(-o))
    return [state[None], state, after]


@each_isa
def test_bytes(isa: int) -> None:
    for batch, hidden, directions in (
        (1, 1, 1),
        (1, 15, 2),
        (3, 33, 1),
        (5, 64, 2),
        (3, 260, 1),
        (1, 515, 1),
    ):
        values = byte_layer(batch, hidden, directions)
        wanted = byte_reference(values)
        close(run_bytes(values, isa), wanted)
        for one, many in zip(run_bytes(values, isa, 1), run_bytes(values, isa, 5), strict=True):
            np.testing.assert_array_equal(one, many)
        values["zero"][:] = 0
        close(run_bytes(values, isa, zero=False), byte_reference(values))


@pytest.mark.parametrize("name", ["r", "bias", "scale", "zero", "c0"])
def test_bytes_that_do_not_fit(name: str) -> None:
    values = byte_layer(2, 8)
    values[name] = np.ascontiguousarray(values[name][..., :-1])
    with pytest.raises(KernelError):
        run_bytes(values)
