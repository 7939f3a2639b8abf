"""Ensembles of trees of ai.onnx.ml in float64; what one score says of two classes, and base values beside it,
is decided as onnxruntime's CPU provider does."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun

from ascend_ep.graph.reference_tabular import TabularOp, numbers, rows_of, text, transformed

Array = npt.NDArray[Any]

BRANCHES: dict[str, Callable[[Array, Array], Any]] = {
    "BRANCH_LEQ": operator.le,
    "BRANCH_LT": operator.lt,
    "BRANCH_GTE": operator.ge,
    "BRANCH_GT": operator.gt,
    "BRANCH_EQ": operator.eq,
    "BRANCH_NEQ": operator.ne,
}


AGGREGATES: dict[str, Callable[[Any, Any], Any]] = {"MIN": min, "MAX": max}


class TreeEnsembleRegressor(TabularOp):
    def _run(self, x: Any, **a: Any) -> tuple[Any]:
        targets = int(a.get("n_targets") or 1)
        values, reached, trees = _scores(
            rows_of(x), a, "target", targets, a.get("aggregate_function") or "SUM"
        )
        if a.get("aggregate_function") == "AVERAGE":
            values = values / trees
        values = np.where(reached, values + numbers(a, "base_values", targets), 0)
        post = text(a.get("post_transform"))
        return (transformed(values, post if targets > 1 or post == "PROBIT" else "NONE"),)


class TreeEnsembleClassifier(TabularOp):
    def _run(self, x: Any, **a: Any) -> tuple[Any, Any]:
        texts = a.get("classlabels_strings")
        labels = np.array(texts or a.get("classlabels_int64s") or [0])
        values, reached, _ = _scores(rows_of(x), a, "class", len(labels), "SUM")
        post, base = text(a.get("post_transform")), numbers(a, "base_values")
        if len(labels) > 2:
            values = values + numbers(a, "base_values", len(labels))
            known = values if len(base) else np.where(reached, values, -np.inf)
            return labels[known.argmax(axis=1)], transformed(values, post)
        one_class = len(set(a["class_ids"])) == 1
        half = one_class and bool((numbers(a, "class_weights") >= 0).all())
        rows = [_of_two(row, there, base, half, post) for row, there in zip(values, reached, strict=True)]
        places = np.array([place for place, _ in rows], np.int64)
        chosen = labels[places] if one_class or texts else places  # as onnxruntime has it
        return chosen, np.array([scores for _, scores in rows]).reshape(len(rows), 2)


class TreeEnsemble(TabularOp):
    """Of version 5: branches and leaves in lists of their own, and branches on sets of values."""

    def _run(self, x: Any, **a: Any) -> tuple[Any]:
        targets, rows = int(a.get("n_targets") or 1), rows_of(x)
        weights = numbers(a, "leaf_weights")
        join = AGGREGATES.get(("", "", "MIN", "MAX")[a.get("aggregate_function", 1)], operator.add)
        values = np.zeros((len(rows), targets))
        tests = self._tests(a)
        for index, row in enumerate(rows.tolist()):
            found: dict[int, float] = {}
            for root in a["tree_roots"]:
                leaf = _leaf(row, root, a, tests)
                target = a["leaf_targetids"][leaf]
                found[target] = join(found[target], weights[leaf]) if target in found else weights[leaf]
            for target, value in found.items():
                values[index, target] = value
        if a.get("aggregate_function", 1) == 0:
            values /= len(a["tree_roots"])
        posts = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
        post = posts[a.get("post_transform") or 0]
        return (transformed(values, post if targets > 1 or post == "PROBIT" else "NONE"),)

    def _tests(self, a: dict[str, Any]) -> list[Callable[[float], bool]]:
        """Whether a value leads to the true side, for each node."""
        members = numbers(a, "membership_values")
        sets = iter(np.split(members, np.flatnonzero(np.isnan(members)) + 1))
        compared = list(BRANCHES.values())
        splits = numbers(a, "nodes_splits").tolist()
        missing = a.get("nodes_missing_value_tracks_true") or [0] * len(splits)
        tests: list[Callable[[float], bool]] = []
        for mode, split, tracks in zip(np.asarray(a["nodes_modes"]).tolist(), splits, missing, strict=True):
            if mode < len(compared):
                test = partial(_compares, compared[mode], split)
            else:
                test = partial(_is_in, frozenset(next(sets).tolist()))
            tests.append(partial(_or_nan, test) if tracks else test)
        return tests


def _compares(compare: Callable[[Any, Any], Any], split: float, value: float) -> bool:
    return bool(compare(value, split))


def _is_in(members: frozenset[float], value: float) -> bool:
    return value in members


def _or_nan(test: Callable[[float], bool], value: float) -> bool:
    return value != value or test(value)


def _leaf(
    row: Sequence[float], node: int, a: dict[str, Any], tests: Sequence[Callable[[float], bool]]
) -> int:
    leaf = False
    while not leaf:
        side = "true" if tests[node](row[a["nodes_featureids"][node]]) else "false"
        node, leaf = a[f"nodes_{side}nodeids"][node], bool(a[f"nodes_{side}leafs"][node])
    return node


def _of_two(row: Array, reached: Array, base: Array, half: bool, post: str) -> tuple[int, Array]:
    """Which of two classes a row is, and both its scores, of which there may be one. `half`: that one is a
    probability, as no leaf lowers it."""
    scores, (has_first, has_second) = row.copy(), reached
    if len(base) == 2 and has_second:
        scores[1] = base[1] + scores[0]
        scores[0] = -scores[1] if has_first else 0
    elif len(base) and has_first:
        scores[0] += base[0]
    score = scores[int(has_second)]
    place = int(score > (0.5 if half else 0))
    if has_second or len(base) == 2:
        return place, transformed(scores[None], post)[0]
    if post == "LOGISTIC":
        return place, transformed(np.array([-score, score]), post)
    return place, np.array([1 - score if half else -score, score])


def _scores(x: Array, a: dict[str, Any], kind: str, targets: int, aggregate: str) -> tuple[Array, Array, int]:
    """The sum, least or largest of what each row's leaves add, [rows, targets]; whether any added; the number
    of trees. `kind`: target or class."""
    node_numbers = {key: i for i, key in enumerate(zip(a["nodes_treeids"], a["nodes_nodeids"], strict=True))}
    adds: dict[int, list[tuple[int, float]]] = {}
    names = [a[f"{kind}_{n}"] for n in ("treeids", "nodeids", "ids")]
    for tree, node, target, weight in zip(*names, numbers(a, f"{kind}_weights"), strict=True):
        adds.setdefault(node_numbers[tree, node], []).append((target, weight))
    join = AGGREGATES.get(aggregate, operator.add)
    values, reached = np.zeros((len(x), targets)), np.zeros((len(x), targets), bool)
    roots = {tree: node_numbers[tree, node] for tree, node in reversed(node_numbers)}
    thresholds = numbers(a, "nodes_values").tolist()
    modes = [text(mode) for mode in a["nodes_modes"]]
    missing = a.get("nodes_missing_value_tracks_true") or [0] * len(modes)
    children = {True: a["nodes_truenodeids"], False: a["nodes_falsenodeids"]}
    for index, row in enumerate(x.tolist()):
        for root in roots.values():
            node = root
            while modes[node] != "LEAF":
                value = row[a["nodes_featureids"][node]]
                yes = BRANCHES[modes[node]](value, thresholds[node]) or bool(missing[node] and value != value)
                node = node_numbers[a["nodes_treeids"][node], children[yes][node]]
            for target, weight in adds.get(node, ()):
                before, there = values[index, target], reached[index, target]
                values[index, target] = join(before, weight) if there else weight
                reached[index, target] = True
    return values, reached, len(roots)


TREE_OPS: tuple[type[OpRun], ...] = (TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor)
