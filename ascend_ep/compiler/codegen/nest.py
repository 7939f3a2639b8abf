"""The loops of a graph: which axes are outer, inner or folded, and what each pass over the inner ones does.

A program without folds has a nest per output shape: the last axis is cut in segments, everything else is an
outer loop. With folds there is one nest: its items are the elements of the axes that no fold folds (or strips
of a vector of them, when the last axis is kept), and every item makes a pass over the folded axes per level
of folds, all while its data is in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .graph import Axis, Graph, Node, NotGenerated, reachable


@dataclass(frozen=True, eq=False)
class Tensor:
    """An operand of the call and the loops it has, outermost first. name: p<i> an input, q<i> an output."""

    name: str
    index: int
    is_input: bool
    dtype: int
    loops: tuple[Loop, ...]


@dataclass(frozen=True, eq=False)
class Loop:
    """Axes that every tensor either has all of, side by side, or none of: one loop."""

    index: int
    axes: tuple[Axis, ...]


@dataclass
class Pass:
    """folds: what it folds; outputs: what it writes; kept: values it leaves in memory for later passes;
    found: values that earlier ones left."""

    folds: list[Node] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    kept: list[Node] = field(default_factory=list)
    found: list[Node] = field(default_factory=list)

    def roots(self, graph: Graph) -> list[Node]:
        return [f.args[0] for f in self.folds] + [graph.outputs[o][0] for o in self.outputs]


@dataclass
class Nest:
    """lanes: the loop that vectors run along, or None for single numbers. outer: of the items, without a
    kept `lanes`. inner: loops of a pass, without `lanes`. strips: an item is a vector of the last axis, which
    no fold folds. segments: an item is a piece of the last axis."""

    lanes: Loop | None
    outer: list[Loop]
    inner: list[Loop]
    strips: bool
    segments: bool
    passes: list[Pass]
    outputs: list[int]  # written once per item, after all passes
    tensors: list[Tensor]
    inner_axes: frozenset[Axis]

    def is_row_value(self, node: Node) -> bool:
        """Whether the node is one number, or one vector, per item."""
        return not node.varies & self.inner_axes

    def kept(self) -> list[Node]:
        return list(dict.fromkeys(n for p in self.passes for n in p.kept))


def plan_nests(graph: Graph, keep: int) -> list[Nest]:
    """The nests that compute all outputs. Raises NotGenerated."""
    order = _axis_order(graph)
    folded = {f.folded for f in graph.nodes() if f.is_fold}
    if len(folded) > 1:
        raise NotGenerated("its reductions are over different axes")
    if folded:
        return [_nest(graph, order, list(range(len(graph.outputs))), folded.pop(), keep)]
    groups: dict[frozenset[Axis], list[int]] = {}
    for i, (node, _) in enumerate(graph.outputs):
        groups.setdefault(node.varies, []).append(i)
    return [_nest(graph, order, outputs, frozenset(), keep) for outputs in groups.values()]


def _axis_order(graph: Graph) -> list[Axis]:
    """All axes, each after those before it in any tensor."""
    shapes = [_roots(axes) for axes in (*graph.input_axes, *(n.axes for n in graph.nodes()))]
    after: dict[Axis, set[Axis]] = {}
    for shape in shapes:
        if len(set(shape)) != len(shape):
            raise NotGenerated("it broadcasts a tensor against its own transpose")
        for i, axis in enumerate(shape):
            after.setdefault(axis, set()).update(shape[:i])
    order: list[Axis] = []
    while len(order) < len(after):
        free = next((a for a, before in after.items() if a not in order and before <= set(order)), None)
        if free is None:
            raise NotGenerated("its tensors have their axes in different orders")
        order.append(free)
    return order


def _roots(axes: Sequence[Axis | None]) -> list[Axis]:
    return [a.root() for a in axes if a is not None]


def _nest(graph: Graph, order: list[Axis], outputs: list[int], folded: frozenset[Axis], keep: int) -> Nest:
    nodes = reachable(graph.outputs[i][0] for i in outputs)
    space = frozenset[Axis]().union(*(n.varies for n in nodes)) | folded
    for i in outputs:
        varies = graph.outputs[i][0].varies
        if varies != space and varies != space - folded:
            raise NotGenerated("an output lacks an axis that others have")
    axes = [a for a in order if a in space]
    counted = {a.root() for n in nodes if n.op == "index" for a in n.along if a is not None}
    used = sorted({int(n.value) for n in nodes if n.op == "input"})
    shapes = [_roots(graph.input_axes[i]) for i in used] + [_roots(graph.outputs[i][0].axes) for i in outputs]
    loops = _merge(axes, shapes, counted, folded)
    tensors = [_tensor("p", i, graph.inputs[i].dtype, graph.input_axes[i], loops) for i in used]  # type: ignore[union-attr]
    tensors += [_tensor("q", i, graph.outputs[i][1], graph.outputs[i][0].axes, loops) for i in outputs]
    lanes = loops[-1] if loops else None
    strips = bool(folded) and lanes is not None and not set(lanes.axes) & folded
    inner_axes = folded if folded else frozenset(lanes.axes if lanes else ())
    rest = [loop for loop in loops if loop is not lanes]
    outer = [loop for loop in rest if not set(loop.axes) & inner_axes]
    inner = [loop for loop in rest if set(loop.axes) & inner_axes]
    nest = Nest(lanes, outer, inner, strips, not folded, [], [], tensors, inner_axes)
    _fill_passes(nest, graph, nodes, outputs, keep)
    return nest


def _merge(
    axes: list[Axis], shapes: list[list[Axis]], counted: set[Axis], folded: frozenset[Axis]
) -> list[Loop]:
    groups: list[list[Axis]] = []
    for axis in axes:
        last = groups[-1][-1] if groups else None
        together = last is not None and all(
            (axis in s) == (last in s) and (axis not in s or s.index(axis) == s.index(last) + 1)
            for s in shapes
        )
        if together and not {axis, last} & counted and (axis in folded) == (last in folded):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return [Loop(i, tuple(g)) for i, g in enumerate(groups)]


def _tensor(prefix: str, index: int, dtype: int, axes: Sequence[Axis | None], loops: list[Loop]) -> Tensor:
    have = set(_roots(axes))
    mine = tuple(loop for loop in loops if loop.axes[0] in have)
    return Tensor(f"{prefix}{index}", index, prefix == "p", dtype, mine)


def _fill_passes(nest: Nest, graph: Graph, nodes: list[Node], outputs: list[int], keep: int) -> None:
    """A fold goes to the pass of its operand's level, an output to the first pass that can write it."""
    passes: dict[int, Pass] = {}
    for node in nodes:
        if node.is_fold:
            passes.setdefault(node.args[0].level, Pass()).folds.append(node)
    for i in outputs:
        node = graph.outputs[i][0]
        if nest.is_row_value(node):
            nest.outputs.append(i)
        else:
            passes.setdefault(node.level, Pass()).outputs.append(i)
    nest.passes = [passes[level] for level in sorted(passes)]
    made: dict[Node, Pass] = {}
    for number, current in enumerate(nest.passes):
        current.found = _worth_keeping(nest, current.roots(graph), made, keep) if number else []
        for node in current.found:
            if node not in made[node].kept:
                made[node].kept.append(node)
        for node in reachable(current.roots(graph), current.found):
            if not nest.is_row_value(node):
                made.setdefault(node, current)


def _worth_keeping(nest: Nest, roots: list[Node], made: dict[Node, Pass], keep: int) -> list[Node]:
    """The topmost values below `roots` that an earlier pass made and that are dear to make again."""
    found: dict[Node, None] = {}
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node in seen or nest.is_row_value(node):
            continue
        seen.add(node)
        if node in made and not node.is_bool and _cost(nest, node) >= keep:
            found[node] = None
        else:
            stack += node.args
    return list(found)


def _cost(nest: Nest, node: Node) -> int:
    return sum(n.cost for n in reachable([node]) if not nest.is_row_value(n) and not n.is_fold)


def item_cost(nest: Nest, graph: Graph) -> int:
    """Work per element of the innermost loop, for cutting an iteration space in chunks."""
    nodes = {n for p in nest.passes for n in reachable(p.roots(graph))}
    return 4 + sum(n.cost for n in nodes)
