"""Whole models that are drawn by a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from model_fuzzing.control import branched, looped, scanned
from model_fuzzing.draw import Array, Draw
from model_fuzzing.growing import OPSETS, Graph, names_read, whole
from model_fuzzing.moves import axes_changed, cut, image, indexed, of_sizes, reshaped
from model_fuzzing.steps import (
    Step,
    along_axis,
    binary,
    cast,
    compared,
    normed,
    product,
    quantised,
    recurrent,
    reduced,
    unary,
    windowed,
)

#: How often each kind of step is tried.
STEPS: dict[Step, int] = {
    unary: 6,
    binary: 8,
    compared: 3,
    cast: 2,
    reduced: 4,
    along_axis: 3,
    normed: 3,
    product: 6,
    windowed: 5,
    quantised: 2,
    recurrent: 1,
    reshaped: 4,
    axes_changed: 4,
    cut: 5,
    indexed: 3,
    of_sizes: 3,
    image: 2,
    branched: 2,
    looped: 1,
    scanned: 1,
}


@dataclass
class Drawn:
    """A model's parts: nodes in order, the values that each made, constants, and what is fed."""

    nodes: list[onnx.NodeProto]
    values: dict[str, Array]
    constants: dict[str, Array]
    feeds: dict[str, Array]
    outputs: list[str]
    opset: int
    free: str

    def model(self) -> onnx.ModelProto:
        return whole(self.nodes, self.feeds, self.constants, self.outputs, self.opset, self.free)

    def only(self, outputs: list[str], cuts: frozenset[str] = frozenset()) -> Drawn:
        """What makes these outputs; values of `cuts` are inputs instead."""
        needed, kept = set(outputs), []
        for node in reversed(self.nodes):
            if needed & (set(node.output) - cuts):
                kept.append(node)
                needed |= names_read(node)
        feeds = {
            n: x
            for n, x in {**self.feeds, **self.values}.items()
            if n in needed and (n in self.feeds or n in cuts)
        }
        constants = {n: x for n, x in self.constants.items() if n in needed}
        return Drawn(kept[::-1], self.values, constants, feeds, outputs, self.opset, self.free)


def drawn_model(seed: int, most: int = 14) -> Drawn:
    """Of one to four inputs, and up to `most` steps; what nothing reads is an output."""
    draw = Draw(seed)
    g = Graph(draw, draw.one_of(*OPSETS))
    for _ in range(draw.one_of(1, 1, 2, 3)):
        name = g.name("x")
        g.values[name] = _input(draw)
        g.inputs.append(name)
    if draw.chance(0.3):
        name = g.name("x")
        g.values[name] = np.array(draw.chance())
        g.inputs.append(name)
    steps, weights = list(STEPS), list(STEPS.values())
    for _ in range(draw.random.randint(2, most)):
        for _ in range(4):
            if draw.random.choices(steps, weights)[0](g):
                break
    read = {n for node in g.nodes for n in names_read(node)}
    made = [n for node in g.nodes for n in node.output]
    outputs = [n for n in made if n not in read or draw.chance(0.1)]
    feeds = {n: g.values[n] for n in g.inputs}
    return Drawn(
        g.nodes, g.values, g.constants, feeds, outputs, g.opset, draw.one_of("none", "each", "shared")
    )


def _input(draw: Draw) -> Array:
    shape = draw.one_of(
        draw.shape(0, 4),
        [draw.one_of(1, 2, 3), draw.one_of(1, 3, 4, 8), draw.size(), draw.size()],
        [draw.one_of(1, 2), draw.size(), draw.one_of(4, 8, 16, 12)],
    )
    if draw.chance(0.12):
        return draw.integers(-4, 9, *shape, dtype=draw.one_of(np.int64, np.int32))
    return draw.floats(*shape)
