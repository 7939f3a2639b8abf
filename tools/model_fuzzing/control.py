"""Steps with bodies: If, Loop and Scan, which read values of the graph around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from model_fuzzing.draw import Array
from model_fuzzing.growing import Graph, described
from model_fuzzing.steps import binary, is_float, unary


def branched(g: Graph) -> Any:
    """If, on a constant, an input, or what was computed; the branches may give other shapes."""
    condition = g.pick(lambda x: x.dtype == bool and x.shape == ())
    if condition is None:
        x = g.pick(is_float)
        if x is None:
            return None
        total = g.add("ReduceSum", [x], keepdims=0)
        truth = total and g.add("Greater", [total[0], g.constant(0.1, np.float32)])
        if not truth:
            return None
        condition = truth[0]
    bodies = {}
    for side in ("then_branch", "else_branch"):
        inner = _inside(g)
        last = _chain(inner)
        if last is None:
            return None
        bodies[side] = _graph(inner, [], [last])
    return g.add("If", [condition], **bodies)


def looped(g: Graph) -> Any:
    """Loop: a value is carried, and its states collected; it may end early."""
    carried = g.pick(lambda x: is_float(x) and x.size < 2000)
    if carried is None:
        return None
    inner = _inside(g)
    start = g.known()[carried]
    names = [inner.name("b") for _ in range(3)]
    inner.values |= dict(zip(names, (np.int64(0), np.array(True), start), strict=True))
    last = _steady(inner, names[2])
    if last is None:
        return None
    on = names[1]
    if g.draw.chance(0.3):
        early = inner.add("Less", [names[0], inner.constant(1, np.int64)])
        on = early[0] if early else on
    states = inner.add("Identity", [last])
    going = inner.add("Identity", [on])
    if not states or not going:
        return None
    body = _graph(inner, names, [going[0], last, states[0]])
    trips = g.constant(g.draw.one_of(0, 1, 3), np.int64)
    return g.add("Loop", [trips, g.constant(True), carried], 2, body=body)


def scanned(g: Graph) -> Any:
    """Scan over the first axis, with a state."""
    rows = g.pick(lambda x: is_float(x) and x.ndim > 1 and x.shape[0] > 0)
    if rows is None:
        return None
    inner = _inside(g)
    row = g.known()[rows][0]
    names = [inner.name("b") for _ in range(2)]
    inner.values |= dict(zip(names, (np.zeros_like(row), row), strict=True))
    joined = inner.add("Add", names)
    last = joined and _steady(inner, joined[0])
    if not last:
        return None
    out = inner.add("Identity", [last])
    if not out:
        return None
    zeros = g.constant(np.zeros_like(row))
    named = {"scan_input_directions": [1]} if g.draw.chance(0.3) else {}
    body = _graph(inner, names, [last, out[0]])
    return g.add("Scan", [zeros, rows], 2, body=body, num_scan_inputs=1, **named)


def _inside(g: Graph) -> Graph:
    return Graph(g.draw, g.opset, outer=g, count=g.count)


def _chain(inner: Graph) -> str | None:
    """A few nodes, and the name of the last float; control flow within control flow now and then."""
    last = None
    for _ in range(inner.draw.random.randint(1, 4)):
        step = inner.draw.one_of(unary, binary)
        made = step(inner)
        if made and is_float(inner.values[made[-1]]):
            last = made[-1]
    return last


def _steady(inner: Graph, name: str) -> str | None:
    """The value after nodes that keep its shape, and that keep it within bounds."""
    shape = inner.values[name].shape
    last = name
    for _ in range(inner.draw.random.randint(1, 3)):
        array = inner.values[last]
        other = inner.pick(lambda x: is_float(x) and x.shape in (shape, ()))
        choice = inner.draw.one_of("Tanh", "Sin", "Neg", "Add")
        made = inner.add("Add", [last, other]) if choice == "Add" and other else inner.add("Tanh", [last])
        if made and inner.values[made[0]].shape == array.shape:
            last = made[0]
    bounded = inner.add("Tanh", [last])
    return bounded[0] if bounded else None


def _graph(inner: Graph, inputs: list[str], outputs: list[str]) -> onnx.GraphProto:
    known = inner.known()
    return helper.make_graph(
        inner.nodes,
        inner.name("body"),
        [_untold(n, known[n]) for n in inputs],
        [_untold(n, known[n]) for n in outputs],
        [numpy_helper.from_array(x, n) for n, x in inner.constants.items()],
    )


def _untold(name: str, x: Array) -> onnx.ValueInfoProto:
    """Of a type, and of any shape."""
    info = described(name, np.asarray(x))
    info.type.tensor_type.ClearField("shape")
    return info
