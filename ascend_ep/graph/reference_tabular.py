"""Encoders, linear models, support vectors and maps of ai.onnx.ml in float64, where onnx.reference lacks them
or decides otherwise than onnxruntime's CPU provider."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun

Array = npt.NDArray[Any]


class TabularOp(OpRun):
    op_domain = "ai.onnx.ml"


class ZipMap(TabularOp):
    """A map from label to score for each row."""

    def _run(
        self, x: Any, classlabels_int64s: Any = None, classlabels_strings: Any = None, **_: Any
    ) -> tuple[Any]:
        labels = classlabels_strings or classlabels_int64s
        return ([dict(zip(labels, row, strict=True)) for row in np.atleast_2d(x).tolist()],)


class Scaler(TabularOp):
    def _run(self, x: Any, **a: Any) -> tuple[Any]:
        return ((x - numbers(a, "offset")) * numbers(a, "scale"),)


class Normalizer(TabularOp):
    """Rows over their largest element that is a number, the sum of magnitudes or the length."""

    def _run(self, x: Any, norm: Any = None) -> tuple[Any]:
        if text(norm) == "L1":
            size = np.abs(x).sum(axis=-1, keepdims=True)
        elif text(norm) == "L2":
            size = np.sqrt((x.astype(np.float64) ** 2).sum(axis=-1, keepdims=True))
        else:
            size = np.fmax.reduce(x.astype(np.float64), axis=-1, keepdims=True, initial=-np.inf)
        return (x / np.where(size == 0, 1, size),)


class OneHotEncoder(TabularOp):
    """Floats count by their whole part."""

    def _run(self, x: Any, cats_int64s: Any = None, cats_strings: Any = None, zeros: Any = 1) -> tuple[Any]:
        with np.errstate(invalid="ignore"):
            values = x.astype(np.int64) if x.dtype.kind in "fiu" else x
        marks = values[..., None] == np.array(cats_strings or cats_int64s)
        if not zeros and not marks.any(axis=-1).all():
            raise ValueError("OneHotEncoder: a value is of no category")
        return (marks.astype(np.float64),)


class LinearRegressor(TabularOp):
    def _run(self, x: Any, targets: Any = 1, post_transform: Any = None, **a: Any) -> tuple[Any]:
        weights = numbers(a, "coefficients").reshape(targets, -1)
        return (transformed(x @ weights.T + numbers(a, "intercepts", targets), post_transform),)


class LabelEncoder(TabularOp):
    """Of keys that are there twice the first; NaN is a key."""

    def _run(self, x: Any, **a: Any) -> tuple[Any]:
        kinds = ("floats", "int64s", "strings", "tensor")
        keys, values = (
            next(a[f"{side}_{k}"] for k in kinds if a.get(f"{side}_{k}") is not None)
            for side in ("keys", "values")
        )
        kind = next(k for k in kinds if a.get(f"values_{k}") is not None)
        other = a.get({"tensor": "default_tensor"}.get(kind, f"default_{kind[:-1]}"))
        other = np.asarray(other).reshape(-1)[0] if other is not None else 0
        known = dict(zip(map(_key, reversed(list(keys))), reversed(list(values)), strict=True))
        found = [known.get(_key(element), other) for element in np.asarray(x).reshape(-1).tolist()]
        dtype = {"floats": np.float64, "int64s": np.int64, "strings": object}.get(
            kind, np.asarray(values).dtype
        )
        return (np.array(found, dtype).reshape(np.shape(x)),)


def _key(element: Any) -> Any:
    if isinstance(element, float) and math.isnan(element):
        return "NaN"
    return np.float32(element).item() if isinstance(element, float) else element


class SVMClassifier(TabularOp):
    """Votes of pairs of classes; with `prob_a`, probabilities coupled from them as libsvm does
    (Wu, Lin and Weng 2004, the second method)."""

    def _run(self, x: Any, **a: Any) -> tuple[Any, Any]:
        labels = np.array(a.get("classlabels_strings") or a.get("classlabels_ints"))
        counts = a.get("vectors_per_class") or []
        if not counts or len(labels) < 2 or (len(labels) == 2 and not a.get("prob_a")):
            raise NotImplementedError("SVMClassifier without support vectors, or of two classes without odds")
        pairs = list(combinations(range(len(labels)), 2))
        sums = _pair_sums(_kernel_values(rows_of(x, True), a), a, counts, pairs)
        votes = np.zeros((len(sums), len(labels)))
        for column, (i, j) in enumerate(pairs):
            votes[:, i] += sums[:, column] > 0
            votes[:, j] += ~(sums[:, column] > 0)
        scores = sums
        if a.get("prob_a"):
            odds = 1 / (1 + np.exp(sums * numbers(a, "prob_a") + numbers(a, "prob_b")))
            scores = np.array([_coupled(row, len(labels), pairs) for row in np.clip(odds, 1e-7, 1 - 1e-7)])
            scores = scores.reshape(len(sums), len(labels))
        return labels[votes.argmax(axis=1)], transformed(scores, a.get("post_transform"))


def _kernel_values(x: Array, a: dict[str, Any]) -> Array:
    """The kernel of each row and support vector, [rows, vectors]."""
    vectors = numbers(a, "support_vectors").reshape(-1, x.shape[1])
    gamma, offset, degree = (*numbers(a, "kernel_params"), 0.0, 0.0, 0.0)[:3]
    kind = text(a.get("kernel_type"))
    if kind == "RBF":
        return np.asarray(np.exp(-gamma * ((x[:, None] - vectors) ** 2).sum(axis=-1)))
    products = x @ vectors.T
    if kind == "POLY":
        return np.asarray((gamma * products + offset) ** degree)
    return np.asarray(np.tanh(gamma * products + offset)) if kind == "SIGMOID" else products


def _pair_sums(
    kernel: Array, a: dict[str, Any], counts: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> Array:
    weights = numbers(a, "coefficients").reshape(len(counts) - 1, -1)
    ends = np.cumsum([0, *counts])
    own = [slice(ends[i], ends[i + 1]) for i in range(len(counts))]
    columns = [
        kernel[:, own[i]] @ weights[j - 1, own[i]] + kernel[:, own[j]] @ weights[i, own[j]] for i, j in pairs
    ]
    return np.stack(columns, axis=-1) + numbers(a, "rho")


def _coupled(odds: Array, classes: int, pairs: Sequence[tuple[int, int]]) -> Array:
    """Probabilities of classes from those of pairs: the iteration of libsvm, to its precision of 0.005. All
    classes are as probable where one is NaN."""
    r = np.zeros((classes, classes))
    for value, (i, j) in zip(odds, pairs, strict=True):
        r[i, j], r[j, i] = value, 1 - value
    q = -r.T * r
    np.fill_diagonal(q, (r**2).sum(axis=0))
    p = np.full(classes, 1 / classes)
    for _ in range(max(100, classes)):
        qp = q @ p
        pqp = p @ qp
        if not np.abs(qp - pqp).max() >= 0.005 / classes:
            break
        for t in range(classes):
            step = (pqp - qp[t]) / q[t, t]
            p[t] += step
            pqp = (pqp + step * (step * q[t, t] + 2 * qp[t])) / (1 + step) ** 2
            qp = (qp + step * q[t]) / (1 + step)
            p /= 1 + step
    return p


def transformed(scores: Array, transform: Any) -> Array:
    kind = text(transform)
    if kind == "LOGISTIC":
        return np.asarray(1 / (1 + np.exp(-scores)))
    if kind == "PROBIT":  # Winitzki's approximation of the inverse error function
        p = 2 * scores - 1
        mean = 2 / (math.pi * 0.147) + 0.5 * np.log(1 - p * p)
        return np.asarray(np.copysign(np.sqrt(2 * (np.sqrt(mean**2 - np.log(1 - p * p) / 0.147) - mean)), p))
    if kind == "NONE":
        return scores
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    if kind == "SOFTMAX_ZERO":  # a score of 0 stays 0
        powers = np.where(np.abs(scores) > 1e-7, powers, 0)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def rows_of(x: Array, floats: bool = False) -> Array:
    """The table as rows of float64; whole numbers are float32 first, as onnxruntime compares them."""
    rows = np.atleast_2d(x)
    return rows.astype(np.float64 if rows.dtype.kind == "f" and not floats else np.float32).astype(np.float64)


def numbers(a: dict[str, Any], name: str, count: int = 0) -> Array:
    """A list of float32, or the tensor that stands for it, as float64; zeros when it is missing."""
    tensor = a.get(f"{name}_as_tensor")
    if tensor is None and isinstance(a.get(name), np.ndarray):
        tensor = a[name]
    given = np.asarray(a.get(name) or [], np.float32) if tensor is None else np.asarray(tensor).reshape(-1)
    return given.astype(np.float64) if given.size or not count else np.zeros(count)


def text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "NONE")


TABULAR_OPS: tuple[type[OpRun], ...] = (
    LabelEncoder,
    LinearRegressor,
    Normalizer,
    OneHotEncoder,
    SVMClassifier,
    Scaler,
    ZipMap,
)
