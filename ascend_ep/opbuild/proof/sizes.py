"""The sizes of an operator's inputs that a proof is free to change.

Dimensions that the formula broadcasts together change together; those that only happen to be of one size, as
in a square, don't. Dimensions of 1 stay, as they broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ascend_ep.codegen.builder import build_graph
from ascend_ep.codegen.graph import Axis, InputType, Node
from ascend_ep.opbuild.proof.subject import Subject

Dims = list[tuple[int, ...] | None]


@dataclass(frozen=True)
class Sizes:
    """built: the sizes built for, of the longest input first. least: what a size must be for the rankings
    along it. rows: the positions of sizes that are some input's last, the longest input's first. inputs: per
    input (None: absent) and dimension the position of its size, or None for a dimension that stays; given:
    the inputs' dims as they were built for."""

    built: tuple[int, ...]
    least: tuple[int, ...]
    rows: tuple[int, ...]
    inputs: tuple[tuple[int | None, ...] | None, ...]
    given: tuple[tuple[int, ...] | None, ...]

    def dims(self, sizes: Sequence[int]) -> Dims:
        """The dims of every input with other sizes in the place of `built`."""
        return [
            None
            if given is None or places is None
            else tuple(d if p is None else sizes[p] for d, p in zip(given, places, strict=True))
            for given, places in zip(self.given, self.inputs, strict=True)
        ]

    def allowed(self, sizes: Sequence[int]) -> list[int]:
        """The sizes, or what the rankings need at least."""
        return [max(size, least) for size, least in zip(sizes, self.least, strict=True)]

    def shrunk(self, sizes: Sequence[int], fits: Callable[[Dims], bool]) -> list[int] | None:
        """The largest sizes halved until their dims fit, down to 2; None when nothing does."""
        now = list(sizes)
        floors = [max(2, least) for least in self.least]
        while not fits(self.dims(now)):
            room = [i for i, size in enumerate(now) if size > floors[i]]
            if not room:
                return None
            largest = max(room, key=lambda i: now[i])
            now[largest] = max(floors[largest], now[largest] // 2)
        return now


def free_sizes(subject: Subject) -> Sizes:
    """Raises NotGenerated."""
    types = [None if t is None else InputType(t.dtype, tuple(map(str, t.dims))) for t in subject.inputs]
    graph = build_graph(subject.program, subject.names, types, subject.output_types)
    order = sorted(
        (i for i, t in enumerate(subject.inputs) if t is not None),
        key=lambda i: -len(graph.input_axes[i]),
    )
    found: dict[Axis, int] = {}
    for i in order:
        spec = subject.inputs[i]
        assert spec is not None
        for axis, size in zip(graph.input_axes[i], spec.dims, strict=True):
            if axis is not None and axis.root().known is None:
                found.setdefault(axis.root(), size)
    least = dict.fromkeys(found, 0)
    for node in graph.nodes():
        for axis in node.folded if node.ranking else ():
            if axis in least and node.ranking:
                least[axis] = max(least[axis], node.ranking.k)
    for axis in _bound(graph.nodes(), least):
        del found[axis], least[axis]
    places = {axis: at for at, axis in enumerate(found)}
    inputs = tuple(
        None if t is None else tuple(None if a is None else places.get(a.root()) for a in axes)
        for t, axes in zip(subject.inputs, graph.input_axes, strict=True)
    )
    rows = dict.fromkeys(p for i in order for p in (inputs[i] or ())[-1:] if p is not None)
    given = tuple(None if t is None else t.dims for t in subject.inputs)
    return Sizes(tuple(found.values()), tuple(least.values()), tuple(rows), inputs, given)


def _bound(nodes: Sequence[Node], least: dict[Axis, int]) -> set[Axis]:
    """Sizes that aren't free: those that parts of other axes must have, and these axes. Adds to `least` what
    parts need of the others."""
    held: set[Axis] = set()
    for axis in {a.root() for n in nodes for a in n.axes if a is not None}:
        for derived in axis.derived:
            sources = [a.sized() for a in derived.axes]
            if axis in least or len(axis.derived) > 1:
                held |= {a for a in (axis, *sources) if a in least}
            if sources[0] in least:
                least[sources[0]] = max(least[sources[0]], derived.least)
    return held
