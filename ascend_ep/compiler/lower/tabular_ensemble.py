"""TreeEnsemble of ai.onnx.ml 5, which numbers branches and leaves apart and knows sets of members."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_ep.compiler.lower.arguments import needed
from ascend_ep.compiler.lower.tabular_forest import Branch, Forest, Leaf, Mode
from ascend_ep.compiler.lower.tabular_trees import AGGREGATES, POSTS, emit_trees, lists_of, table_of
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, Unsupported, lowers
from ascend_ep.element_types import FLOAT64

#: What the numbers of its attributes mean.
MODES = (*Mode, None)
MEMBER = MODES.index(None)
#: Not 1 and 2: SOFTMAX and LOGISTIC by ONNX's text, the other way round in onnxruntime 1.32.
POST_NAMES = {0: "NONE", 3: "SOFTMAX_ZERO", 4: "PROBIT"}
AGGREGATE_NAMES = ("AVERAGE", "SUM", "MIN", "MAX")
LISTS = ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")


def _member_lists(node: NodeView, modes: list[int]) -> dict[int, list[float]]:
    """The values of each node that asks for membership; NaN ends a list."""
    asking = [i for i, mode in enumerate(modes) if mode == MEMBER]
    given = node.attr("membership_values")
    lists: list[list[float]] = [[]]
    for value in np.asarray([] if given is None else given, np.float64).reshape(-1):
        if np.isnan(value):
            lists.append([])
        else:
            lists[-1].append(float(value))
    if asking and len(lists) == len(asking) + 1 and not lists[-1]:
        lists.pop()
    if asking and (len(lists) != len(asking) or not all(lists)):
        raise Unsupported("it has not one list of members for each node that asks for one")
    return dict(zip(asking, lists, strict=False))


def _forest(node: NodeView, dtype: int) -> Forest:
    """Each reference to a leaf is a leaf of its own, and each member a branch."""
    kind = np.float64 if dtype == FLOAT64 else np.float32
    columns, yes, no, yes_leaf, no_leaf = lists_of(node, *(f"nodes_{name}" for name in LISTS))
    modes = [int(m) for m in np.asarray(node.attr("nodes_modes")).reshape(-1)]
    splits = [float(v) for v in np.asarray(node.attr("nodes_splits")).astype(kind).reshape(-1)]
    missing = list(node.attr("nodes_missing_value_tracks_true", ())) or [0] * len(columns)
    weights = [float(w) for w in np.asarray(node.attr("leaf_weights")).astype(kind).reshape(-1)]
    targets = list(node.attr("leaf_targetids", ()))
    if not len(columns) == len(modes) == len(splits) == len(missing) or len(targets) != len(weights):
        raise Unsupported("its lists of nodes, or of leaves, have different lengths")
    members = _member_lists(node, modes)
    most = 8 * (len(modes) + len(weights) + sum(map(len, members.values()))) + 64
    nodes: list[Branch | Leaf] = []
    roots: list[int] = []

    def placed() -> int:
        if len(nodes) > most:
            raise Unsupported("many of its nodes have several parents")
        nodes.append(Leaf(()))
        return len(nodes) - 1

    for root in node.attr("tree_roots", ()):
        roots.append(placed())
        pending: list[tuple[int, Any, int]] = [(roots[-1], 0, int(root))]
        while pending:
            at, is_leaf, number = pending.pop()
            if not 0 <= number < len(weights if is_leaf else modes):
                raise Unsupported(f"it names the node or leaf {number}, which there isn't")
            if is_leaf:
                nodes[at] = Leaf(((int(targets[number]), weights[number]),))
                continue
            mode = MODES[modes[number]]
            for value in members[number] if mode is None else [splits[number]]:
                children = placed(), placed()
                nodes[at] = Branch(
                    mode or Mode.BRANCH_EQ, int(columns[number]), value, bool(missing[number]), *children
                )
                pending.append((children[0], yes_leaf[number], int(yes[number])))
                at = children[1]
            pending.append((at, no_leaf[number], int(no[number])))
    return Forest(nodes, roots, dtype)


@lowers("tree_ensemble")
def lower_tree_ensemble(node: NodeView, b: PlanBuilder) -> None:
    x = table_of(node, b)
    forest = _forest(node, x.dtype)
    post = POST_NAMES.get(int(node.attr("post_transform", 0)))
    if post is None:
        raise Unsupported("onnxruntime reads its post_transform in another way than ONNX")
    aggregate = AGGREGATES[AGGREGATE_NAMES[int(node.attr("aggregate_function", 1))]]
    out = b.out(needed(node.outputs, 0))
    emit_trees(b, forest, x, [out], int(node.attr("n_targets", 1)), aggregate, POSTS[post], ())
