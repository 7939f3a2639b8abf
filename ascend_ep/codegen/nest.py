"""The loops of a stage: which axes are outer, inner or folded, and what each pass over the inner ones does.

Without folds the last axis is cut in segments, everything else is an outer loop. With folds an item is one
element of the axes that no fold folds (or a strip of a vector of them, when the last axis is kept), and makes
a pass over the folded axes per level of folds, all while its data is in the nearest cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .graph import Axis, Memory, Node, reachable, roots
from .stages import LoopStage, axis_order, merged


@dataclass(frozen=True, eq=False)
class Tensor:
    """Memory and the loops that it has, outermost first. name: p<i> is read, q<i> written."""

    name: str
    memory: Memory
    loops: tuple[Loop, ...]


@dataclass(frozen=True, eq=False)
class Write:
    """A value and where it goes."""

    node: Node
    tensor: Tensor


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
    outputs: list[Write] = field(default_factory=list)
    kept: list[Node] = field(default_factory=list)
    found: list[Node] = field(default_factory=list)

    def roots(self) -> list[Node]:
        return [f.args[0] for f in self.folds] + [w.node for w in self.outputs]


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
    outputs: list[Write]  # once per item, after all passes
    loads: dict[Node, Tensor]
    writes: list[Write]
    inner_axes: frozenset[Axis]

    def is_row_value(self, node: Node) -> bool:
        """Whether the node is one number, or one vector, per item."""
        return not node.varies & self.inner_axes

    def tensors(self) -> list[Tensor]:
        return [*self.loads.values(), *(w.tensor for w in self.writes)]

    def kept(self) -> list[Node]:
        return list(dict.fromkeys(n for p in self.passes for n in p.kept))


def plan_nest(stage: LoopStage, keep: int) -> Nest:
    """The loops of a stage. keep: as in Schedule."""
    nodes = reachable(t.node for t in stage.targets)
    folded = next((f.folded for f in nodes if f.is_fold), frozenset[Axis]())
    space = frozenset[Axis]().union(*(n.varies for n in nodes)) | folded
    loads = [n for n in nodes if n.op == "load"]
    shapes = [roots(n.axes) for n in (*loads, *(t.node for t in stage.targets))]
    order = axis_order(shapes + [roots(n.args[0].axes) for n in nodes if n.is_fold], space)
    assert order is not None, "a stage has its axes in one order"
    counted = {a for n in nodes if n.op == "index" for a in roots(n.along)}
    loops = [Loop(i, g) for i, g in enumerate(merged(order, shapes, counted, folded))]
    tensors = {n: _tensor(f"p{i}", n, n.memory, loops) for i, n in enumerate(loads)}
    writes = [Write(t.node, _tensor(f"q{i}", t.node, t.memory, loops)) for i, t in enumerate(stage.targets)]
    lanes = loops[-1] if loops else None
    strips = bool(folded) and lanes is not None and not set(lanes.axes) & folded
    inner_axes = folded if folded else frozenset(lanes.axes if lanes else ())
    rest = [loop for loop in loops if loop is not lanes]
    outer = [loop for loop in rest if not set(loop.axes) & inner_axes]
    inner = [loop for loop in rest if set(loop.axes) & inner_axes]
    nest = Nest(lanes, outer, inner, strips, not folded, [], [], tensors, writes, inner_axes)
    _fill_passes(nest, nodes, keep)
    return nest


def _tensor(name: str, node: Node, memory: Memory | None, loops: list[Loop]) -> Tensor:
    assert memory is not None, "it is a load"
    mine = tuple(loop for loop in loops if loop.axes[0] in node.varies)
    return Tensor(name, memory, mine)


def _fill_passes(nest: Nest, nodes: list[Node], keep: int) -> None:
    """A fold goes to the pass of its operand's level, an output to the first pass that can write it."""
    passes: dict[int, Pass] = {}
    for node in nodes:
        if node.is_fold:
            passes.setdefault(node.args[0].level, Pass()).folds.append(node)
    for write in nest.writes:
        if nest.is_row_value(write.node):
            nest.outputs.append(write)
        else:
            passes.setdefault(write.node.level, Pass()).outputs.append(write)
    nest.passes = [passes[level] for level in sorted(passes)]
    made: dict[Node, Pass] = {}
    for number, current in enumerate(nest.passes):
        current.found = _worth_keeping(nest, current.roots(), made, keep) if number else []
        for node in current.found:
            if node not in made[node].kept:
                made[node].kept.append(node)
        for node in reachable(current.roots(), current.found):
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


def item_cost(nest: Nest) -> int:
    """Work per element of the innermost loop, for cutting an iteration space in chunks."""
    nodes = {n for p in nest.passes for n in reachable(p.roots())}
    return 4 + sum(n.cost for n in nodes)
