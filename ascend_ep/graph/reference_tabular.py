"""Trees, support vectors and maps of ai.onnx.ml in float64.

What ONNX's text leaves open is decided as onnxruntime's CPU provider does: what one score says of two
classes, base values beside it, and how pairs of classes become probabilities.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun

Array = npt.NDArray[Any]

BRANCHES: dict[str, Callable[[Array, Array], Any]] = {
    "BRANCH_LEQ": operator.le,
    "BRANCH_LT": operator.lt,
    "BRANCH_GTE": operator.ge,
    "BRANCH_GT": operator.gt,
    "BRANCH_EQ": operator.eq,
    "BRANCH_NEQ": operator.ne,
}


class _TabularOp(OpRun):
    op_domain = "ai.onnx.ml"


class ZipMap(_TabularOp):
    """A map from label to score for each row."""

    def _run(
        self, x: Any, classlabels_int64s: Any = None, classlabels_strings: Any = None, **_: Any
    ) -> tuple[Any]:
        labels = classlabels_strings or classlabels_int64s
        return ([dict(zip(labels, row, strict=True)) for row in np.atleast_2d(x).tolist()],)


class TreeEnsembleRegressor(_TabularOp):
    def _run(self, x: Any, **a: Any) -> tuple[Any]:
        targets = int(a.get("n_targets") or 1)
        values, reached, trees = _scores(_rows(x), a, "target", targets, a.get("aggregate_function") or "SUM")
        if a.get("aggregate_function") == "AVERAGE":
            values = values / trees
        values = np.where(reached, values, 0) + _numbers(a, "base_values", targets)
        return (_transformed(values, a.get("post_transform")),)


class TreeEnsembleClassifier(_TabularOp):
    def _run(self, x: Any, **a: Any) -> tuple[Any, Any]:
        texts = a.get("classlabels_strings")
        labels = np.array(texts or a.get("classlabels_int64s") or [0])
        values, reached, _ = _scores(_rows(x), a, "class", len(labels), "SUM")
        if len(labels) > 2:
            values = values + _numbers(a, "base_values", len(labels))
            return labels[values.argmax(axis=1)], _transformed(values, a.get("post_transform"))
        weights = _numbers(a, "class_weights")
        one_score = len(set(a["class_ids"])) == 1
        rows = [
            _of_two(row, there, _numbers(a, "base_values"), one_score, bool((weights >= 0).all()), a)
            for row, there in zip(values, reached, strict=True)
        ]
        places = np.array([place for place, _ in rows], np.int64)
        chosen = labels[places] if one_score or texts else places  # as onnxruntime has it
        return chosen, np.array([scores for _, scores in rows]).reshape(len(rows), -1)


def _of_two(
    row: Array, reached: Array, base: Array, one_score: bool, positive: bool, a: dict[str, Any]
) -> tuple[int, Array]:
    """Which of two classes a row is, and both its scores. `one_score`: leaves score one class only."""
    first, second, has_second = row[0], row[-1], bool(reached[-1])
    if len(base) == 2 and has_second:
        second = base[1] + first
        first = -second
    elif len(base) == 2:
        first, second, has_second = first + base[0], second + base[1], True
    elif len(base) == 1:
        first = first + base[0]
    score = second if has_second else first
    place = int(score > (0.5 if one_score and positive else 0))
    if has_second:
        return place, _transformed(np.array([[first, second]]), a.get("post_transform"))[0]
    if a.get("post_transform") == "PROBIT":
        return place, _transformed(np.array([[first]]), "PROBIT")[0]
    if one_score and positive:
        return place, np.array([1 - first, first])
    if not one_score:
        return place, np.array([first])
    both = np.array([[-first, first]])
    return place, _transformed(both, "LOGISTIC")[0] if a.get("post_transform") == "LOGISTIC" else both[0]


def _scores(x: Array, a: dict[str, Any], kind: str, targets: int, aggregate: str) -> tuple[Array, Array, int]:
    """The sum, least or largest of what each row's leaves add, [rows, targets]; whether any added; the number
    of trees. `kind`: target or class."""
    numbers = {key: i for i, key in enumerate(zip(a["nodes_treeids"], a["nodes_nodeids"], strict=True))}
    adds: dict[int, list[tuple[int, float]]] = {}
    names = [a[f"{kind}_{n}"] for n in ("treeids", "nodeids", "ids")]
    for tree, node, target, weight in zip(*names, _numbers(a, f"{kind}_weights"), strict=True):
        adds.setdefault(numbers[tree, node], []).append((target, weight))
    join = {"MIN": min, "MAX": max}.get(aggregate, operator.add)
    values, reached = np.zeros((len(x), targets)), np.zeros((len(x), targets), bool)
    roots = {tree: numbers[tree, node] for tree, node in reversed(numbers)}
    for root in roots.values():
        for row, leaf in enumerate(_leaves(x, a, numbers, root)):
            for target, weight in adds.get(leaf, ()):
                values[row, target] = join(values[row, target], weight) if reached[row, target] else weight
                reached[row, target] = True
    return values, reached, len(roots)


def _leaves(x: Array, a: dict[str, Any], numbers: dict[tuple[int, int], int], root: int) -> list[int]:
    """The number of the node where each row ends."""
    thresholds = _numbers(a, "nodes_values")
    missing = a.get("nodes_missing_value_tracks_true") or [0] * len(numbers)
    found = []
    for row in x:
        node = root
        while (mode := _text(a["nodes_modes"][node])) != "LEAF":
            value = row[a["nodes_featureids"][node]]
            yes = bool(BRANCHES[mode](value, thresholds[node])) or bool(missing[node] and np.isnan(value))
            children = a["nodes_truenodeids"] if yes else a["nodes_falsenodeids"]
            node = numbers[a["nodes_treeids"][node], children[node]]
        found.append(node)
    return found


class SVMClassifier(_TabularOp):
    """Votes of pairs of classes; with `prob_a`, probabilities coupled from them as libsvm does
    (Wu, Lin and Weng 2004, the second method)."""

    def _run(self, x: Any, **a: Any) -> tuple[Any, Any]:
        labels = np.array(a.get("classlabels_strings") or a.get("classlabels_ints"))
        counts = a.get("vectors_per_class") or []
        if not counts or len(labels) < 2 or (len(labels) == 2 and not a.get("prob_a")):
            raise NotImplementedError("SVMClassifier without support vectors, or of two classes without odds")
        pairs = list(combinations(range(len(labels)), 2))
        sums = _pair_sums(_kernel_values(_rows(x, True), a), a, counts, pairs)
        if a.get("prob_a"):
            odds = 1 / (1 + np.exp(sums * _numbers(a, "prob_a") + _numbers(a, "prob_b")))
            scores = np.array([_coupled(row, len(labels), pairs) for row in np.clip(odds, 1e-7, 1 - 1e-7)])
            scores = scores.reshape(len(sums), len(labels))
            return labels[scores.argmax(axis=1)], _transformed(scores, a.get("post_transform"))
        votes = np.zeros((len(sums), len(labels)))
        for column, (i, j) in enumerate(pairs):
            votes[:, i] += sums[:, column] > 0
            votes[:, j] += ~(sums[:, column] > 0)
        return labels[votes.argmax(axis=1)], _transformed(sums, a.get("post_transform"))


def _kernel_values(x: Array, a: dict[str, Any]) -> Array:
    """The kernel of each row and support vector, [rows, vectors]."""
    vectors = _numbers(a, "support_vectors").reshape(-1, x.shape[1])
    gamma, offset, degree = (*_numbers(a, "kernel_params"), 0.0, 0.0, 0.0)[:3]
    kind = _text(a.get("kernel_type") or "LINEAR")
    if kind == "RBF":
        return np.asarray(np.exp(-gamma * ((x[:, None] - vectors) ** 2).sum(axis=-1)))
    products = x @ vectors.T
    if kind == "POLY":
        return np.asarray((gamma * products + offset) ** degree)
    return np.asarray(np.tanh(gamma * products + offset)) if kind == "SIGMOID" else products


def _pair_sums(
    kernel: Array, a: dict[str, Any], counts: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> Array:
    weights = _numbers(a, "coefficients").reshape(len(counts) - 1, -1)
    ends = np.cumsum([0, *counts])
    own = [slice(ends[i], ends[i + 1]) for i in range(len(counts))]
    columns = [
        kernel[:, own[i]] @ weights[j - 1, own[i]] + kernel[:, own[j]] @ weights[i, own[j]] for i, j in pairs
    ]
    return np.stack(columns, axis=-1) + _numbers(a, "rho")


def _coupled(odds: Array, classes: int, pairs: Sequence[tuple[int, int]]) -> Array:
    """Probabilities of classes from those of pairs: the iteration of libsvm, to its precision of 0.005."""
    r = np.zeros((classes, classes))
    for value, (i, j) in zip(odds, pairs, strict=True):
        r[i, j], r[j, i] = value, 1 - value
    q = -r.T * r
    np.fill_diagonal(q, (r**2).sum(axis=0))
    p = np.full(classes, 1 / classes)
    for _ in range(max(100, classes)):
        qp = q @ p
        pqp = p @ qp
        if np.abs(qp - pqp).max() < 0.005 / classes:
            break
        for t in range(classes):
            step = (pqp - qp[t]) / q[t, t]
            p[t] += step
            pqp = (pqp + step * (step * q[t, t] + 2 * qp[t])) / (1 + step) ** 2
            qp = (qp + step * q[t]) / (1 + step)
            p /= 1 + step
    return p


def _transformed(scores: Array, transform: Any) -> Array:
    kind = _text(transform or "NONE")
    if kind == "LOGISTIC":
        return np.asarray(1 / (1 + np.exp(-scores)))
    if kind == "PROBIT":
        return np.asarray(np.vectorize(NormalDist().inv_cdf, otypes=[np.float64])(scores))
    if kind == "NONE":
        return scores
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    if kind == "SOFTMAX_ZERO":  # a score of 0 stays 0
        powers = np.where(np.abs(scores) > 1e-7, powers, 0)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _rows(x: Array, floats: bool = False) -> Array:
    """The table as rows of float64; whole numbers are float32 first, as onnxruntime compares them."""
    rows = np.atleast_2d(x)
    return rows.astype(np.float64 if rows.dtype.kind == "f" and not floats else np.float32).astype(np.float64)


def _numbers(a: dict[str, Any], name: str, count: int = 0) -> Array:
    """A list of float32, or the tensor that stands for it, as float64; zeros when it is missing."""
    tensor = a.get(f"{name}_as_tensor")
    given = np.asarray(a.get(name) or [], np.float32) if tensor is None else np.asarray(tensor).reshape(-1)
    return given.astype(np.float64) if given.size or not count else np.zeros(count)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


TABULAR_OPS: tuple[type[OpRun], ...] = (SVMClassifier, TreeEnsembleClassifier, TreeEnsembleRegressor, ZipMap)
