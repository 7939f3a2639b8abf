"""tree_ensemble on every ISA level, against walks in float64 over the trees as ONNX has them.

Branches are exact. Sums are those of the trees in their order, so that rows and threads don't change a bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

from ascend_ep.compiler.lower.tabular_forest import Branch, Forest, Leaf, Mode
from ascend_ep.element_types import FLOAT32, FLOAT64
from ascend_ep.plan.kernel_params import TREE, TREE_FLOATS, choices

TAKES = {
    Mode.BRANCH_LEQ: np.less_equal,
    Mode.BRANCH_LT: np.less,
    Mode.BRANCH_GTE: np.greater_equal,
    Mode.BRANCH_GT: np.greater,
    Mode.BRANCH_EQ: np.equal,
    Mode.BRANCH_NEQ: np.not_equal,
}
#: Thresholds and elements that meet: signed zeros, the smallest numbers, infinities.
MEETING = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, -1e-45, np.inf, -np.inf, np.nan]
LEAVES = choices("asc_leaf")


def grown(
    rng: np.random.Generator, trees: int, depth: int, modes: Sequence[Mode], targets: int, per_leaf: str
) -> Forest:
    """Random trees over five columns, in float32. `per_leaf`: weight, row or list, as the kernel has them."""
    nodes: list[Branch | Leaf] = []

    def grow(tree: int, left: int) -> int:
        place = len(nodes)
        if left == 0 or rng.random() < 0.1:
            chosen = {
                "weight": [tree % targets],
                "row": list(range(targets)),
                "list": sorted(rng.choice(targets, rng.integers(1, targets + 1), replace=False).tolist()),
            }[per_leaf]
            nodes.append(Leaf(tuple((t, float(np.float32(rng.normal()))) for t in chosen)))
            return place
        nodes.append(Leaf(()))
        value = float(np.float32(rng.choice(MEETING) if rng.random() < 0.5 else rng.normal()))
        yes, no = grow(tree, left - 1), grow(tree, left - 1)
        mode = modes[rng.integers(len(modes))]
        nodes[place] = Branch(mode, int(rng.integers(5)), value, bool(rng.integers(2)), yes, no)
        return place

    roots = [grow(tree, depth) for tree in range(trees)]
    return Forest(nodes, roots, FLOAT32)


def table(rng: np.random.Generator, rows: int, dtype: type = np.float32) -> np.ndarray:
    x = rng.normal(size=(rows, 5)).astype(dtype)
    meeting = rng.random(x.shape) < 0.4
    x[meeting] = rng.choice(np.array(MEETING, dtype), meeting.sum())
    return x


def reference(forest: Forest, x: np.ndarray, targets: int) -> np.ndarray:
    sums = np.zeros((len(x), targets))
    for row, values in zip(sums, x, strict=True):
        for root in forest.roots:
            node = forest.nodes[root]
            while isinstance(node, Branch):
                v = values[node.column]
                yes = TAKES[node.mode](v, values.dtype.type(node.value)) or (node.missing and np.isnan(v))
                node = forest.nodes[node.yes if yes else node.no]
            for target, weight in node.weights:
                row[target] += weight
    return sums


def scores(
    forest: Forest,
    x: np.ndarray,
    targets: int,
    isa: int | None = None,
    threads: int = 2,
    out: type = np.float32,
) -> tuple[str, np.ndarray]:
    packed = forest.packed(targets)
    tables = [packed.nodes, packed.trees, packed.weights, packed.begins, packed.targets]
    while tables[-1] is None:
        tables.pop()
    ints = TREE.pack((), targets=targets, aggregate=0, leaf=LEAVES[packed.kind], post=0, label=0)
    (got,) = call(
        "tree_ensemble",
        [x, *tables],
        [(out, (len(x), targets))],
        [int(i) for i in ints],  # type: ignore[arg-type]
        TREE_FLOATS.pack((), bases=0.0),
        isa,
        threads,
        constants=range(1, 1 + len(tables)),
    )
    return packed.kind, got


@each_isa
@pytest.mark.parametrize("per_leaf", ["weight", "row", "list"])
@pytest.mark.parametrize(
    "modes",
    [[Mode.BRANCH_LEQ], [Mode.BRANCH_LT, Mode.BRANCH_GTE], list(Mode)],
    ids=["leq", "ordered", "all"],
)
def test_walks(isa: int, per_leaf: str, modes: list[Mode]) -> None:
    rng = np.random.default_rng(7)
    for targets, trees, depth in ((1, 1, 0), (1, 9, 4), (3, 17, 5)):
        forest = grown(rng, trees, depth, modes, targets, per_leaf)
        for rows in (0, 1, 7, 8, 19):
            x = table(rng, rows)
            kind, got = scores(forest, x, targets, isa)
            assert kind == per_leaf or targets == 1
            np.testing.assert_allclose(got, reference(forest, x, targets), rtol=1e-5, atol=1e-5)


@each_isa
def test_float64(isa: int) -> None:
    """Rows between a float32 threshold and its neighbours are told apart."""
    rng = np.random.default_rng(8)
    narrow = grown(rng, 9, 4, list(Mode), 2, "row")
    forest = Forest(narrow.nodes, narrow.roots, FLOAT64)
    x = table(rng, 30, np.float64)
    x[::2] = np.nextafter(x[::2], 0)
    for out in (np.float32, np.float64):
        _, got = scores(forest, x, 2, isa, out=out)
        np.testing.assert_allclose(got, reference(forest, x, 2), rtol=1e-6, atol=1e-12)


def test_rows_and_threads_do_not_matter() -> None:
    rng = np.random.default_rng(9)
    forest = grown(rng, 60, 6, [Mode.BRANCH_LEQ], 3, "weight")
    x = table(rng, 600)
    _, all_at_once = scores(forest, x, 3, threads=4)
    _, on_one = scores(forest, x, 3, threads=1)
    np.testing.assert_array_equal(all_at_once, on_one)
    for rows in (1, 5, 130):
        np.testing.assert_array_equal(scores(forest, x[:rows], 3)[1], all_at_once[:rows])


@pytest.mark.parametrize("per_leaf", ["weight", "row", "list"])
def test_few_rows_are_shared_tree_by_tree(per_leaf: str) -> None:
    rng = np.random.default_rng(4)
    forest = grown(rng, 1200, 4, [Mode.BRANCH_LEQ], 3, per_leaf)
    x = table(rng, 7)
    for rows in (1, 3, 7):
        (labels, one), *others = (scores(forest, x[:rows], 3, threads=n) for n in (1, 2, 5))
        for some, found in others:
            np.testing.assert_array_equal(found, one)
            np.testing.assert_array_equal(some, labels)


def test_hostile_tables_are_refused() -> None:
    """A plan's tables are data of others: what they name must be there, and every walk must end."""
    rng = np.random.default_rng(10)
    forest = grown(rng, 3, 3, [Mode.BRANCH_LEQ], 2, "list")
    packed = forest.packed(2)
    good = [packed.nodes, packed.trees, packed.weights, packed.begins, packed.targets]
    ints = [int(i) for i in TREE.pack((), targets=2, aggregate=0, leaf=2, post=0, label=0)]  # type: ignore[arg-type]

    def run(tables: list[np.ndarray], constants: Sequence[int] = range(1, 6)) -> None:
        x = np.zeros((1, 5), np.float32)
        call("tree_ensemble", [x, *tables], [(np.float32, (1, 2))], ints, (0.0,), constants=constants)

    run(good)
    root = int(packed.trees[0, 0])
    for table_number, place, value in [
        (0, (root, 1), 5), (0, (root, 1), -1), (0, (root, 2), 0), (0, (root, 2), 10**6),
        (0, (root, 2), len(packed.nodes) - 1), (0, (-1, 3), 10**6), (0, (-1, 3), -1), (1, (0, 0), 10**6),
        (1, (0, 1), 2), (3, 1, 10**6), (3, 1, -1), (4, 0, 2), (4, 0, -1),
    ]:  # fmt: skip
        bad = [t.copy() for t in good]
        bad[table_number][place] = value
        with pytest.raises(KernelError):
            run(bad)
    with pytest.raises(KernelError, match="constant"):
        run(good, constants=())
