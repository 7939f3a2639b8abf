"""TreeEnsembleRegressor, TreeEnsembleClassifier and TreeEnsemble of ai.onnx.ml, as calls of the kernel
tree_ensemble (native/kernels/tabular/tree_ensemble.c).

What the text of ONNX leaves open is as onnxruntime's CPU provider has it; where that reads uninitialised
memory the node is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ascend_ep.compiler.lower.arguments import enum_of, needed, operand
from ascend_ep.compiler.lower.tabular_forest import Branch, Forest, Leaf, Mode
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.element_types import FLOAT32, FLOAT64, INT64
from ascend_ep.plan.kernel_params import TREE, TREE_FLOATS, choices

POSTS = {name.upper(): number for name, number in choices("asc_post").items()}
LABELS = choices("asc_label")
LEAVES = choices("asc_leaf")
AGGREGATES = {name.upper(): number for name, number in choices("asc_aggregate").items()}


def numbers_of(node: NodeView, name: str, dtype: int) -> list[float]:
    """A list of floats in the type of the ensemble: of the attribute, or of the tensor that stands for it."""
    tensor = node.attr(f"{name}_as_tensor")
    given = node.attr(name, ()) if tensor is None else np.asarray(tensor).reshape(-1)
    array = np.asarray(given, np.float32 if tensor is None else None)
    return [float(v) for v in array.astype(np.float64 if dtype == FLOAT64 else np.float32)]


def lists_of(node: NodeView, *names: str) -> list[list[Any]]:
    """Attributes that are lists of one length."""
    found = [list(node.attr(name, ())) for name in names]
    if len({len(each) for each in found}) != 1:
        raise Unsupported(f"its attributes {', '.join(names)} have different lengths")
    return found


def _leaf_weights(node: NodeView, kind: str, dtype: int) -> dict[tuple[int, int], list[tuple[int, float]]]:
    """For each tree and node, targets and weights of the leaf, in their order. `kind`: target or class."""
    trees, nodes, ids = lists_of(node, f"{kind}_treeids", f"{kind}_nodeids", f"{kind}_ids")
    weights = numbers_of(node, f"{kind}_weights", dtype)
    if len(weights) != len(ids):
        raise Unsupported(f"it has {len(ids)} {kind}_ids and {len(weights)} {kind}_weights")
    found: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for tree, leaf, target, weight in zip(trees, nodes, ids, weights, strict=True):
        found.setdefault((tree, leaf), []).append((int(target), weight))
    return found


def _forest(node: NodeView, kind: str, dtype: int) -> Forest:
    trees, ids, columns, modes, yes, no = lists_of(
        node,
        *(f"nodes_{n}" for n in ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids")),
    )
    values = numbers_of(node, "nodes_values", dtype)
    missing = list(node.attr("nodes_missing_value_tracks_true", ())) or [0] * len(ids)
    if not len(values) == len(missing) == len(ids):
        raise Unsupported("its nodes have too few values, or marks of missing values")
    weights = _leaf_weights(node, kind, dtype)
    numbers = {key: i for i, key in enumerate(zip(trees, ids, strict=True))}
    if len(numbers) != len(ids):
        raise Unsupported("two of its nodes have one number")
    found: list[Branch | Leaf] = []
    for i, (tree, mode) in enumerate(zip(trees, modes, strict=True)):
        if mode == "LEAF":
            found.append(Leaf(tuple(weights.get((tree, ids[i]), ()))))
            continue
        children = numbers.get((tree, yes[i])), numbers.get((tree, no[i]))
        if None in children or mode not in Mode.__members__:
            raise Unsupported(f"its node {ids[i]} of tree {tree} names a child or a mode that there isn't")
        found.append(
            Branch(
                Mode[mode],
                int(columns[i]),
                values[i],
                bool(missing[i]),
                int(children[0] or 0),
                int(children[1] or 0),
            )
        )
    roots = [i for i, tree in enumerate(trees) if i == 0 or trees[i - 1] != tree]
    return Forest(found, roots, dtype)


def emit_trees(
    b: PlanBuilder,
    forest: Forest,
    x: Ref,
    outs: Sequence[Ref],
    targets: int,
    aggregate: int,
    post: int,
    base: Sequence[float],
    label: str = "none",
    labels: Sequence[int] = (),
) -> None:
    packed = forest.packed(targets)
    tables = [b.constant(packed.nodes), b.constant(packed.trees)]
    lists = [packed.weights, packed.begins, packed.targets]
    while lists and lists[-1] is None:
        lists.pop()
    ints = TREE.pack(
        labels, targets=targets, aggregate=aggregate, leaf=LEAVES[packed.kind], post=post, label=LABELS[label]
    )
    floats = TREE_FLOATS.pack(base, bases=float(len(base)))
    b.emit(
        "tree_ensemble", [x, *tables, *(a if a is None else b.constant(a) for a in lists)], outs, ints, floats
    )


def table_of(node: NodeView, b: PlanBuilder) -> Ref:
    """The rows: float64 as they are, everything else in float32, as onnxruntime compares it."""
    source = needed(node.inputs, 0)
    if source.rank not in (1, 2):
        raise Unsupported(f"its input has {source.rank} dims")
    return b.cast(b.contiguous(b.ref(source)), FLOAT64 if source.dtype == FLOAT64 else FLOAT32)


@lowers("tree_ensemble_regressor")
def lower_tree_ensemble_regressor(node: NodeView, b: PlanBuilder) -> None:
    x = table_of(node, b)
    forest = _forest(node, "target", x.dtype)
    targets = int(node.attr("n_targets", 1))
    base = numbers_of(node, "base_values", x.dtype)
    if len(base) not in (0, targets):
        raise Unsupported(f"it has {targets} targets and {len(base)} base values")
    aggregate = enum_of(node, "aggregate_function", AGGREGATES, "SUM")
    post = enum_of(node, "post_transform", POSTS, "NONE")
    emit_trees(b, forest, x, [b.out(needed(node.outputs, 0))], targets, aggregate, post, base)


def _class_labels(node: NodeView) -> list[int]:
    texts, numbers = node.attr("classlabels_strings", ()), node.attr("classlabels_int64s", ())
    return list(range(len(texts))) if texts else [int(n) for n in numbers]


def _label_rule(forest: Forest, classes: int) -> str:
    if classes > 2:
        return "largest"
    ids = {target for leaf in forest.leaves for target, _ in leaf.weights}
    if len(ids) > 1:
        return "sign"
    return "half" if all(w >= 0 for leaf in forest.leaves for _, w in leaf.weights) else "binary"


@lowers("tree_ensemble_classifier")
def lower_tree_ensemble_classifier(node: NodeView, b: PlanBuilder) -> None:
    x = table_of(node, b)
    forest = _forest(node, "class", x.dtype)
    labels = _class_labels(node)
    classes = len(labels)
    base = numbers_of(node, "base_values", x.dtype)
    post = enum_of(node, "post_transform", POSTS, "NONE")
    if classes < 2 or len(base) not in (0, classes, 1 if classes == 2 else 0):
        raise Unsupported(f"it has {classes} classes and {len(base)} base values")
    rule = _label_rule(forest, classes)
    single = classes == 2 and len(base) < 2 and not forest.always_scores(1)
    if single and (post == POSTS["PROBIT"] or (rule == "sign" and base)):
        raise Unsupported("the second score of a row without one is undefined")
    if rule == "sign":
        labels = [0, 1]  # as onnxruntime has it, whatever the labels are
    chosen, scores = operand(node.outputs, 0), operand(node.outputs, 1)
    if chosen is not None and chosen.dtype != INT64:
        raise Unsupported("its labels are strings")
    rows = x.dims[0] if len(x.dims) == 2 else 1
    outs = [
        b.temp(FLOAT32, [rows, classes]) if scores is None else b.out(scores),
        b.temp(INT64, [rows]) if chosen is None else b.out(chosen),
    ]
    emit_trees(b, forest, x, outs, classes, AGGREGATES["SUM"], post, base, rule, labels)
