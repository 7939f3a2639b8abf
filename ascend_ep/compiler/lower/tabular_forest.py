"""A forest of decision trees as nodes, and its layout for the kernel tree_ensemble.

The kernel knows two comparisons: x <= threshold and x == threshold, each of which leads to the second of two
children that lie side by side. All modes of ONNX come down to them, NaN included.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.lowering import Unsupported
from ascend_ep.element_types import FLOAT64
from ascend_ep.runtime._rt import lib


class Mode(enum.Enum):
    """When a branch leads to its true child."""

    BRANCH_LEQ = "x <= value"
    BRANCH_LT = "x < value"
    BRANCH_GTE = "x >= value"
    BRANCH_GT = "x > value"
    BRANCH_EQ = "x == value"
    BRANCH_NEQ = "x != value"


@dataclass(frozen=True)
class Branch:
    """`yes`, `no`: numbers of nodes. `missing`: NaN leads to `yes` whatever the mode says."""

    mode: Mode
    column: int
    value: float
    missing: bool
    yes: int
    no: int


@dataclass(frozen=True)
class Leaf:
    """Targets and weights, in the order in which they are added."""

    weights: tuple[tuple[int, float], ...]


@dataclass(frozen=True, eq=False)
class Packed:
    """The operands of the kernel behind x; `kind` is what leaves hold (asc_leaf)."""

    kind: str
    nodes: NDArray[np.int32]
    trees: NDArray[np.int32]
    weights: NDArray[np.generic] | None = None
    begins: NDArray[np.int32] | None = None
    targets: NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False)
class Forest:
    """`roots` are numbers of nodes, a tree each. `dtype`: of the rows, the thresholds and the weights."""

    nodes: list[Branch | Leaf]
    roots: list[int]
    dtype: int

    @property
    def leaves(self) -> Iterator[Leaf]:
        return (node for node in self.nodes if isinstance(node, Leaf))

    def always_scores(self, target: int) -> bool:
        """Whether every leaf of some tree adds to that target."""
        return any(
            all(target in dict(leaf.weights) for leaf in self._leaves_below(root)) for root in self.roots
        )

    def _leaves_below(self, root: int) -> Iterator[Leaf]:
        pending = [root]
        while pending:
            node = self.nodes[pending.pop()]
            if isinstance(node, Leaf):
                yield node
            else:
                pending += (node.yes, node.no)

    def packed(self, targets: int) -> Packed:
        """For a kernel with that many targets. Raises Unsupported for what is no forest."""
        order, trees = self._laid_out()
        leaves = [node for _, node, _ in order if isinstance(node, Leaf)]
        if any(not 0 <= t < targets for leaf in leaves for t, _ in leaf.weights):
            raise Unsupported(f"a leaf adds to a target outside the {targets} that there are")
        if targets == 1 and any(len(leaf.weights) > 1 for leaf in leaves):
            raise Unsupported("a leaf has several weights for the only target")
        if any(w != w for leaf in leaves for _, w in leaf.weights):
            raise Unsupported("a weight of a leaf is NaN")
        only = [{t for leaf in self._leaves_below(root) for t, _ in leaf.weights} for root in self.roots]
        float_type: np.dtype[np.floating] = np.dtype(np.float64 if self.dtype == FLOAT64 else np.float32)
        if all(len(leaf.weights) == 1 for leaf in leaves) and all(len(each) == 1 for each in only):
            trees[:, 1] = [target for each in only for target in each]
            return Packed("weight", self._table(order, float_type, by_number=False), trees)
        nodes = self._table(order, float_type, by_number=True)
        values = np.array([w + 0.0 for leaf in leaves for _, w in leaf.weights], float_type)
        if all([t for t, _ in leaf.weights] == list(range(targets)) for leaf in leaves):
            return Packed("row", nodes, trees, values.reshape(len(leaves), targets))
        begins = np.cumsum([0, *(len(leaf.weights) for leaf in leaves)]).astype(np.int32)
        entries = np.array([t for leaf in leaves for t, _ in leaf.weights], np.int32)
        return Packed("list", nodes, trees, values, begins, entries)

    def _laid_out(self) -> tuple[list[tuple[int, Branch | Leaf, int]], NDArray[np.int32]]:
        """Place, node, and the place of the first child of each node, in the order of places; and the trees.
        The children of a node lie behind it and side by side, the second one's descendants behind the first
        one's."""
        children: dict[int, int] = {}
        placed: list[int] = []
        trees = np.zeros((len(self.roots), 2), np.int32)
        for i, root in enumerate(self.roots):
            trees[i, 0] = len(placed)
            placed.append(root)
            pending = [len(placed) - 1]
            while pending:
                place = pending.pop()
                node = self.nodes[placed[place]]
                if isinstance(node, Leaf):
                    children[place] = place
                    continue
                if len(placed) > len(self.nodes):
                    raise Unsupported("one of its nodes has two parents")
                children[place] = len(placed)
                pending += (len(placed) + 1, len(placed))
                _, _, _, second, first = reduced(node, self.dtype)
                placed += (first, second)
        return [(place, self.nodes[n], children[place]) for place, n in enumerate(placed)], trees

    def _table(
        self, order: list[tuple[int, Branch | Leaf, int]], float_type: np.dtype[np.floating], by_number: bool
    ) -> NDArray[np.int32]:
        """The structs node_f32 or node_f64 of the kernel, as words."""
        last = np.int32 if float_type == np.float32 else np.int64
        record = np.dtype(
            [("threshold", float_type), ("feature", np.int32), ("child", np.int32), ("weight", float_type)]
        )
        nodes = np.zeros(len(order), record)
        numbers = nodes["weight"].view(last)
        leaves = 0
        nodes["threshold"] = np.nan
        for place, node, _ in order:
            if isinstance(node, Branch):
                nodes["threshold"][place], equal, missing, *_ = reduced(node, self.dtype)
                flags = equal * lib.ASC_NODE_EQUAL | missing * lib.ASC_NODE_MISSING
                nodes["feature"][place] = node.column | flags
            elif by_number:
                numbers[place], leaves = leaves, leaves + 1
            else:
                nodes["weight"][place] = node.weights[0][1] + 0.0
        nodes["child"] = [child for *_, child in order]
        return nodes.view(np.int32).reshape(len(order), -1)


def reduced(branch: Branch, dtype: int) -> tuple[float, bool, bool, int, int]:
    """Threshold, whether the comparison is ==, whether NaN leads to the second child, that child, and the
    first one."""
    value, mode, missing = branch.value, branch.mode, branch.missing
    if not 0 <= branch.column <= lib.ASC_NODE_COLUMN:
        raise Unsupported(f"its column {branch.column} is out of range")
    if mode is Mode.BRANCH_EQ:
        return value, True, missing, branch.yes, branch.no
    if mode is Mode.BRANCH_NEQ:
        return value, True, False, branch.no, branch.yes
    if mode in (Mode.BRANCH_LT, Mode.BRANCH_GTE):
        value = _below(value, dtype)
    if mode in (Mode.BRANCH_LEQ, Mode.BRANCH_LT) or branch.value != branch.value:
        return value, False, missing, branch.yes, branch.no  # nothing compares with NaN: always no
    return value, False, not missing, branch.no, branch.yes


def _below(value: float, dtype: int) -> float:
    """The largest number below; NaN, which nothing is at most, below -infinity."""
    if value == -np.inf:
        return float("nan")
    kind = np.float64 if dtype == FLOAT64 else np.float32
    return float(np.nextafter(kind(value), kind(-np.inf)))
