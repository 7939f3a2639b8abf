"""The stages of a graph: what is computed in one set of loops, and what goes through memory in between.

A stage has loops over one set of folded axes. A ranking is a stage of its own. Values that cross from one
stage to another are temporaries in the workspace, of the compute type.

The order in which a fold takes its elements is the interpreter's (kernels/reduction/reduce.c), whatever else
is in its stage: neighbouring folded axes are one run, so what would break that run goes through memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import Take

from .builder import unmoved
from .graph import Axes, Axis, Graph, Memory, Node, NotGenerated, Ranking, reachable, roots


@dataclass(frozen=True)
class Target:
    """A value that a stage writes to memory."""

    node: Node
    memory: Memory


@dataclass(frozen=True)
class LoopStage:
    """targets: over nodes that are the stage's own, whose leaves are loads, constants, sizes and indices."""

    targets: tuple[Target, ...]


@dataclass(frozen=True)
class RankStage:
    """operand: the load of the tensor; axis: where in it, None for a dimension of 1. values is None for
    argmax and argmin."""

    operand: Node
    axis: Axis | None
    ranking: Ranking
    values: Memory | None
    indices: Memory


@dataclass(frozen=True)
class MoveStage:
    """operands: loads of the tensors; node: what is done with their elements, which are of one type; target:
    where they go."""

    operands: tuple[Node, ...]
    node: Node
    target: Memory


Stage = LoopStage | RankStage | MoveStage


@dataclass(frozen=True)
class Plan:
    """temps: per temporary its element type and axes."""

    stages: tuple[Stage, ...]
    temps: tuple[tuple[int, Axes], ...]


def plan_stages(graph: Graph) -> Plan:
    """The stages that write all outputs, in order. Raises NotGenerated."""
    return _Planner(graph).plan()


# ---- what may be in one stage --------------------------------------------------------------------


def fits(nodes: Sequence[Node], targets: Iterable[Node], cuts: Iterable[Node]) -> bool:
    """Whether loops over one set of folded axes compute these targets: `nodes` is all they need, in which
    `cuts` and loads are read from memory."""
    leaves = set(cuts)
    folds = [n for n in nodes if n.is_fold and n not in leaves]
    if len({f.folded for f in folds}) > 1 or any(n.is_rank and n not in leaves for n in nodes):
        return False
    folded = folds[0].folded if folds else frozenset[Axis]()
    space = frozenset[Axis]().union(*(n.varies for n in nodes)) | folded
    targets = list(targets)
    if any(t.varies not in (space, space - folded) for t in targets):
        return False
    tensors = [n for n in nodes if n.op == "load" or n in leaves] + targets
    order = axis_order([roots(n.axes) for n in tensors] + [roots(f.args[0].axes) for f in folds], space)
    if order is None:
        return False
    counted = {a for n in nodes if n.op == "index" for a in roots(n.along)}
    groups = merged(order, [roots(n.axes) for n in tensors], counted, folded)
    return all(_folds_in_order(f, order, groups) for f in folds)


def axis_order(shapes: Sequence[Sequence[Axis]], space: Iterable[Axis]) -> list[Axis] | None:
    """All axes, each after those before it in any shape; None when shapes disagree."""
    after: dict[Axis, set[Axis]] = {}
    for shape in shapes:
        for i, axis in enumerate(shape):
            after.setdefault(axis, set()).update(shape[:i])
    for axis in space:
        after.setdefault(axis, set())
    order: list[Axis] = []
    while len(order) < len(after):
        free = next((a for a, before in after.items() if a not in order and before <= set(order)), None)
        if free is None:
            return None
        order.append(free)
    return order


def merged(
    axes: Sequence[Axis], shapes: Sequence[Sequence[Axis]], counted: set[Axis], folded: frozenset[Axis]
) -> list[tuple[Axis, ...]]:
    """Neighbours that every tensor either has side by side or lacks, as one loop."""
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
    return [tuple(g) for g in groups]


def _folds_in_order(fold: Node, order: Sequence[Axis], groups: Sequence[tuple[Axis, ...]]) -> bool:
    """Whether the loops take the elements as native/kernels/reduction/reduce.c takes them from memory."""
    axes = roots(fold.args[0].axes)
    if order[-1] not in axes:
        return False
    group = {a: i for i, g in enumerate(groups) for a in g}
    return all(group[a] == group[b] for a, b in pairwise(axes) if {a, b} <= fold.folded)


# ---- cutting a graph -----------------------------------------------------------------------------


def _transposed_in(nodes: Sequence[Node]) -> list[Node]:
    """Of each chain of "same" nodes that ends with its operand's dimensions in another order, the first that
    changes it."""
    inner = {a for n in nodes if n.op == "same" for a in n.args}
    found = []
    for node in nodes:
        if node.op != "same" or node in inner:
            continue
        chain = [node]
        while chain[-1].args[0].op == "same" and chain[-1].args[0] in nodes:
            chain.append(chain[-1].args[0])
        places: list[int | None] = [*range(len(chain[-1].args[0].axes))]
        for link in reversed(chain):
            places = [None if p is None else link.places[p] for p in places]
        if not _in_order(places):
            found += [link for link in reversed(chain) if not _in_order(link.places)][:1]
    return found


def _in_order(places: Sequence[int | None]) -> bool:
    kept = [p for p in places if p is not None]
    return kept == sorted(kept)


class _Planner:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.number = dtypes.FLOAT64 if graph.wide else dtypes.FLOAT32
        self.temps: list[tuple[int, Axes]] = []
        self.memory: dict[Node, Memory] = {}  # by node of the formula
        self.cuts: dict[Node, None] = {}
        self.transposed: set[Node] = set()

    def is_apart(self, node: Node) -> bool:
        """Whether the node is a stage of its own."""
        return node.is_rank or node.is_move or node in self.transposed

    def plan(self) -> Plan:
        outputs = list(dict.fromkeys(node for node, _ in self.graph.outputs))
        self._cut_rankings()
        self._cut_what_misfits(outputs)
        wanted = dict.fromkeys([*outputs, *self.cuts])
        groups = self._groups([n for n in reachable(outputs) if n in wanted])
        return Plan(tuple(self._stages(groups)), tuple(self.temps))

    def _cut_rankings(self) -> None:
        """What rankings and matrix products read is in memory."""
        for node in self.graph.nodes():
            if node.reads_memory:
                factors = [unmoved(f) for f in node.args[0].args]
                self.cuts.update(dict.fromkeys(f for f in factors if f.op not in ("load", "const")))
            if node.is_rank or node.is_move:
                self.cuts[node] = None
                kinds = {a.memory.dtype if a.memory is not None else self.number for a in node.args}
                keep = node.is_rank or isinstance(node.move, Take) or len(kinds) == 1
                self.cuts.update(dict.fromkeys(a for a in node.args if a.op != "load" or not keep))

    def _cone(self, root: Node, inside: Iterable[Node] = ()) -> list[Node]:
        """What a stage needs for `root`, the cuts it reads among them."""
        free = {root, *inside}
        seen: set[Node] = set()
        found: list[Node] = []
        stack = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                found.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                if node not in self.cuts or node in free:
                    stack += [(a, False) for a in reversed(node.args)]
        return found

    def _cut_what_misfits(self, outputs: Sequence[Node]) -> None:
        checked = -1
        while checked != len(self.cuts):
            checked = len(self.cuts)
            for root in [*outputs, *self.cuts]:
                while not self.is_apart(root):
                    nodes = self._cone(root)
                    leaves = [n for n in nodes if n in self.cuts and n is not root]
                    if fits(nodes, [root], leaves):
                        break
                    self._cut_in(root, [n for n in nodes if n not in leaves])

    def _cut_in(self, root: Node, nodes: Sequence[Node]) -> None:
        """Cuts something below `root`, whose own nodes these are."""
        folds = [n for n in nodes if n.is_fold and n is not root]
        kept = root.folded if root.is_fold else self._best(root, folds)
        cut = [f for f in folds if f.folded != kept] or ([] if root.is_fold else folds)
        transposed = [] if cut else _transposed_in(nodes)
        cut = cut or transposed or [a for a in root.args if a.op != "load"]
        if not cut or all(c in self.cuts for c in cut):
            raise NotGenerated("its tensors have their axes in different orders")
        self.transposed.update(transposed)
        self.cuts.update(dict.fromkeys(a for n in transposed for a in n.args if a.op != "load"))
        self.cuts.update(dict.fromkeys(cut))

    def _best(self, root: Node, folds: Sequence[Node]) -> frozenset[Axis]:
        """The folded axes to have in the stage that writes `root`: those of most folds whose results it
        spreads along them."""
        counts: dict[frozenset[Axis], int] = {}
        for fold in folds:
            counts[fold.folded] = counts.get(fold.folded, 0) + (1 if fold.folded <= root.varies else 0)
        return max(counts, key=lambda c: counts[c], default=frozenset())

    # ---- filling stages ------------------------------------------------------------------------

    def _groups(self, wanted: Sequence[Node]) -> list[list[Node]]:
        """The nodes to have in memory, by stage, in an order in which stages can run."""
        groups: list[list[Node]] = []
        stage: dict[Node, int] = {}
        for node in wanted:
            if node.first in {n.first for n in stage} and node in self.cuts:
                twin = next(n for n in stage if n.first is node.first)
                stage[node] = stage[twin]
                continue
            needs = [stage[n] for n in self._cone(node) if n in stage]
            if self.is_apart(node) and not node.is_rank:
                stage[node] = len(groups)
                groups.append([node])
                continue
            if node.is_rank:
                twin_at = self._rank_twin(groups, node)
                if twin_at is None:
                    groups.append([node])
                    twin_at = len(groups) - 1
                else:
                    groups[twin_at].append(node)
                stage[node] = twin_at
                continue
            for at in range(len(groups) - 1, max(needs, default=0) - 1, -1):
                if self._joins(groups[at], node, stage, at):
                    groups[at].append(node)
                    stage[node] = at
                    break
            else:
                groups.append([node])
                stage[node] = len(groups) - 1
        return groups

    def _rank_twin(self, groups: Sequence[Sequence[Node]], node: Node) -> int | None:
        """The stage that ranks the same for the other result."""
        for at, group in enumerate(groups):
            first = group[0]
            same = first.is_rank and first.args == node.args and first.ranking == node.ranking
            if same and {first.op, node.op} == {"topk", "topk_indices"}:
                return at
        return None

    def _joins(self, group: Sequence[Node], node: Node, stage: dict[Node, int], at: int) -> bool:
        if self.is_apart(group[0]):
            return False
        targets = [*group, node]
        nodes = dict.fromkeys(n for t in targets for n in self._cone(t, targets))
        leaves = [n for n in nodes if n in self.cuts and n not in targets]
        return all(stage.get(n, at) < at for n in leaves) and fits(list(nodes), targets, leaves)

    # ---- stages and memory ---------------------------------------------------------------------

    def _stages(self, groups: Sequence[Sequence[Node]]) -> Iterable[Stage]:
        read = self._read_elsewhere(groups)
        wanted: dict[Node, list[Memory]] = {}
        for index, (node, dtype) in enumerate(self.graph.outputs):
            wanted.setdefault(node, []).append(Memory("out", index, dtype))
        for group in groups:
            if group[0].is_rank:
                yield self._ranking(group, wanted)
                continue
            if self.is_apart(group[0]):
                yield self._move(group[0], wanted)
                continue
            targets = []
            for node in group:
                places = wanted.pop(node, [])
                if node in read:
                    places = self._remember(node, places)
                targets += [(node, m) for m in places]
            yield self._loops(group, targets)
        copies = [(self._load(node), m) for node, places in wanted.items() for m in places]
        for load, memory in copies:
            yield LoopStage((Target(load, memory),))

    def _read_elsewhere(self, groups: Sequence[Sequence[Node]]) -> set[Node]:
        """Cuts that a stage other than their own reads."""
        own = {node: at for at, group in enumerate(groups) for node in group}
        found = set()
        for at, group in enumerate(groups):
            for root in group:
                found |= {n for n in self._cone(root, group) if n in self.cuts and own.get(n, -1) != at}
        return {n for n in own if any(n.first is f.first for f in found)}

    def _remember(self, node: Node, places: list[Memory]) -> list[Memory]:
        """Memory that other stages read, an output of the same type where there is one; all to be written."""
        kind = dtypes.BOOL if node.is_bool else self.number
        exact = next((m for m in places if m.dtype == kind), None)
        self.memory[node.first] = exact or self._temp(kind, node)
        return places if exact else [*places, self.memory[node.first]]

    def _temp(self, dtype: int, node: Node) -> Memory:
        self.temps.append((dtype, node.axes))
        return Memory("temp", len(self.temps) - 1, dtype)

    def _load(self, node: Node) -> Node:
        memory = self.memory[node.first]
        return Node("load", (), node.is_bool, node.axes, memory=memory, origin=node.first)

    def _loops(self, group: Sequence[Node], targets: Sequence[tuple[Node, Memory]]) -> LoopStage:
        """The stage over nodes of its own."""
        made: dict[Node, Node] = {}
        for root in group:
            for node in self._cone(root, group):
                if node in made:
                    continue
                if node in self.cuts and node not in group:
                    made[node] = self._load(node)
                    continue
                args = tuple(made[a] for a in node.args)
                made[node] = replace(node, args=args)
        return LoopStage(tuple(Target(made[node], memory) for node, memory in targets))

    def _move(self, node: Node, wanted: dict[Node, list[Memory]]) -> MoveStage:
        """The result goes to an output of the elements' type; other outputs are copies."""
        operands = tuple(
            a if a.op == "load" and a.first not in self.memory else self._load(a) for a in node.args
        )
        memory = operands[0].memory
        assert memory is not None, "it is a load"
        places = wanted.get(node, [])
        exact = next((m for m in places if m.dtype == memory.dtype), None)
        self.memory[node.first] = exact or self._temp(memory.dtype, node)
        if exact:
            places.remove(exact)
        return MoveStage(operands, node, self.memory[node.first])

    def _ranking(self, group: Sequence[Node], wanted: dict[Node, list[Memory]]) -> RankStage:
        """Results go to outputs of their own type; other outputs are copies."""
        found: dict[bool, Memory] = {}
        for node in group:
            kind = self.number if node.op == "topk" else dtypes.INT64
            places = wanted.get(node, [])
            exact = next((m for m in places if m.dtype == kind), None)
            self.memory[node.first] = found[node.op != "topk"] = exact or self._temp(kind, node)
            if exact:
                places.remove(exact)
        first = group[0]
        (arg,) = first.args
        assert first.ranking is not None
        values = found.get(False)
        if values is None and first.op in ("topk", "topk_indices"):
            values = self._temp(self.number, first)
        indices = found.get(True) or self._temp(dtypes.INT64, first)
        operand = arg if arg.op == "load" else self._load(arg)
        axis = first.along[0] if first.along else None
        return RankStage(operand, axis, first.ranking, values, indices)
