"""--singleop: DynamicRNN, all that it gives, beside a float64 reference."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from atc_models import EXACT, failure, run

import ascend_ep

LINE = ["--singleop=op_list.json", "--output=out", "--soc_version=Ascend910B3", EXACT]
OUTPUTS = ("y", "output_h", "output_c", "i", "j", "f", "o", "tanhc")
#: steps, batch, input and hidden size; attributes; whether first states are given.
CASES: dict[str, tuple[tuple[int, int, int, int], dict[str, Any], bool]] = {
    "plain": ((5, 3, 7, 9), {}, True),
    "one_step": ((1, 2, 3, 5), {"gate_order": "ifjo"}, True),
    "two_steps": ((2, 1, 1, 1), {"gate_order": "ijfo"}, False),
    "torch_npu": ((17, 3, 5, 7), {"gate_order": "ifjo", "is_training": False, "time_major": True}, True),
    "reverse": ((6, 2, 3, 11), {"direction": "REDIRECTIONAL", "forget_bias": 0.75}, True),
    "batch_first": ((4, 3, 2, 5), {"time_major": False, "gate_order": "ifjo"}, False),
}


def described(sizes: tuple[int, int, int, int], attributes: dict[str, Any], states: bool) -> dict[str, Any]:
    def tensor(*shape: int) -> dict[str, Any]:
        return {"format": "ND", "shape": list(shape), "type": "float"}

    steps, batch, width, hidden = sizes
    order = (steps, batch) if attributes.get("time_major", True) else (batch, steps)
    absent = {"format": "RESERVED", "type": "UNDEFINED"}
    inputs = [tensor(*order, width), tensor(width + hidden, 4 * hidden), tensor(4 * hidden)]
    if states:
        inputs += [absent, tensor(1, batch, hidden), tensor(1, batch, hidden)]
    kinds = {bool: "bool", str: "string", float: "float", int: "int"}
    return {
        "op": "DynamicRNN",
        "input_desc": inputs,
        "output_desc": [tensor(*order, hidden)] * len(OUTPUTS),
        "attr": [{"name": k, "type": kinds[type(v)], "value": v} for k, v in attributes.items()],
    }


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def reference(
    attributes: dict[str, Any], x: np.ndarray, w: np.ndarray, b: np.ndarray, *states: np.ndarray
) -> list[np.ndarray]:
    """Step by step."""
    in_time, reverse = attributes.get("time_major", True), attributes.get("direction") == "REDIRECTIONAL"
    x = x if in_time else x.swapaxes(0, 1)
    x = x[::-1] if reverse else x
    none = np.zeros((x.shape[1], len(b) // 4))
    h, c = (s[0] for s in states) if states else (none, none)
    rows = []
    for step in x:
        blocks = np.split(np.concatenate([step, h], 1) @ w + b, 4, 1)
        raw = dict(zip(attributes.get("gate_order", "ijfo"), blocks, strict=True))
        i, o, j = sigmoid(raw["i"]), sigmoid(raw["o"]), np.tanh(raw["j"])
        f = sigmoid(raw["f"] + attributes.get("forget_bias", 0))
        c = f * c + i * j
        h = o * np.tanh(c)
        rows.append((h, h, c, i, j, f, o, np.tanh(c)))
    made = [np.stack(row) for row in zip(*rows, strict=True)]
    made = [m[::-1] for m in made] if reverse else made
    return made if in_time else [m.swapaxes(0, 1) for m in made]


def test_what_a_layer_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = [described(*case) | {"name": name} for name, case in CASES.items()]
    Path("op_list.json").write_text(json.dumps(listed))
    assert run(capsys, *LINE)[0] == 0
    generator = np.random.default_rng(3)
    for name, (_, attributes, _) in CASES.items():
        session = ascend_ep.InferenceSession(f"out/{name}.om")
        assert session.get_providers() == ["AscendEP"]
        feeds = {g.name: generator.standard_normal(g.shape).astype(np.float32) for g in session.get_inputs()}
        found = session.run(None, feeds)
        wanted = reference(attributes, *(v.astype(np.float64) for v in feeds.values()))
        for output, a, b in zip(OUTPUTS, found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5, err_msg=f"{name} {output}")


#: Those of torch_npu, which says "one layer" and "no dropout" of the gradient by other numbers.
ASKED = {"gate_order": "ifjo", "cell_depth": 0, "keep_prob": -1.0, "cell_clip": -1.0, "time_major": True}
GRADIENTS: dict[str, tuple[tuple[int, int, int, int], str]] = {
    "several": ((5, 2, 3, 4), "UNIDIRECTIONAL"),
    "one": ((1, 1, 1, 3), "UNIDIRECTIONAL"),
    "reverse": ((3, 2, 2, 3), "REDIRECTIONAL"),
}


def gradients(loss: Callable[..., float], *at: np.ndarray) -> list[np.ndarray]:
    """By central differences."""
    found = []
    for place in at:
        slope = np.zeros_like(place)
        for index in np.ndindex(place.shape):
            kept, ends = place[index], []
            for step in (1e-5, -1e-5):
                place[index] = kept + step
                ends.append(loss(*at))
            place[index], slope[index] = kept, (ends[0] - ends[1]) / 2e-5
        found.append(slope)
    return found


def test_the_gradient_of_a_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(4)
    given: dict[str, list[np.ndarray]] = {}
    wanted: dict[str, list[np.ndarray]] = {}
    listed = []
    for name, ((steps, batch, width, hidden), direction) in GRADIENTS.items():
        attributes = {**ASKED, "direction": direction}
        shapes = [(steps, batch, width), (width + hidden, 4 * hidden), (4 * hidden,)]
        shapes += [(1, batch, hidden)] * 2
        x, w, b, h, c = (generator.standard_normal(shape) for shape in shapes)
        dy, dh, dc = (generator.standard_normal((n, batch, hidden)) for n in (steps, 1, 1))
        last = 0 if direction == "REDIRECTIONAL" else steps - 1

        def loss(
            *at: np.ndarray, attributes: Any = attributes, ds: Any = (dy, dh, dc), last: Any = last
        ) -> float:
            y, _, cells, *_ = reference(attributes, *at)
            return float((y * ds[0]).sum() + (y[last] * ds[1][0]).sum() + (cells[last] * ds[2][0]).sum())

        y, _, cells, *gates = reference(attributes, x, w, b, h, c)
        dx, dw, db, *first = gradients(loss, x, w, b, h, c)
        wanted[name] = [dw, db, dx, *first]
        given[name] = [x, w, b, y, h, c, y, cells, dy, dh, dc, *gates]
        entry = described((steps, batch, width, hidden), attributes, False)
        entry |= {"op": "DynamicRNNGrad", "name": name}
        for side, tensors in (
            ("input_desc", [*given[name], *[np.zeros(())] * 5]),
            ("output_desc", wanted[name]),
        ):
            entry[side] = [{"format": "ND", "shape": list(v.shape), "type": "float"} for v in tensors]
        listed.append(entry)
    Path("op_list.json").write_text(json.dumps(listed))
    assert run(capsys, *LINE)[0] == 0
    for name, values in given.items():
        session = ascend_ep.InferenceSession(f"out/{name}.om")
        named = {f"x{i}": v.astype(np.float32) for i, v in enumerate([*values, *[np.zeros(())] * 5])}
        found = session.run(None, {g.name: named[g.name] for g in session.get_inputs()})
        for a, exact in zip(found, wanted[name], strict=True):
            np.testing.assert_allclose(a, exact, rtol=1e-4, atol=1e-5, err_msg=name)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "clip": ({"cell_clip": 1.0}, "only -1.0 is computed here"),
    "order": ({"gate_order": "iofj"}, "it must be ijfo or ifjo"),
    "direction": ({"direction": "BIDIRECTIONAL"}, "it must be UNIDIRECTIONAL or REDIRECTIONAL"),
}


@pytest.mark.parametrize("name", [*REFUSED, "lengths"])
def test_what_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    attributes, reason = REFUSED.get(name, ({}, "this input isn't read here"))
    entry = described((2, 2, 2, 2), attributes, True)
    if name == "lengths":
        entry["input_desc"][3] = {"format": "ND", "shape": [2], "type": "int32"}
    Path("op_list.json").write_text(json.dumps([entry]))
    assert reason in failure(capsys, *LINE)
