"""Operators of ai.onnx.ml that have slopes, in PyTorch."""

from __future__ import annotations

from typing import Any

from ascend_ep.frameworks.torch.equivalent_arguments import Attributes, whole_numbers


def _row(values: Any, like: Any) -> Any:
    import torch

    return torch.tensor(list(values), dtype=like.dtype, device=like.device)


def scaled(x: Any, *, a: Attributes) -> Any:
    """Scaler."""
    return (x - _row(a.get("offset") or [0.0], x)) * _row(a.get("scale") or [1.0], x)


def normalized(x: Any, *, a: Attributes) -> Any:
    """Normalizer of rows; one of zeros stays."""
    import torch

    kind = a.get("norm", "MAX")
    if kind == "L1":
        norm = x.abs().sum(-1, keepdim=True)
    elif kind == "L2":
        squares = (x * x).sum(-1, keepdim=True)
        norm = torch.where(squares == 0, 1.0, squares).sqrt()
    else:
        norm = x.amax(-1, keepdim=True)
    return x / torch.where(norm == 0, 1.0, norm)


def imputed(x: Any, *, a: Attributes) -> Any:
    """Imputer of floats."""
    import torch

    fill, missing = _row(a.get("imputed_value_floats") or [0.0], x), a.get("replaced_value_float", 0.0)
    where = x.isnan() if missing != missing else x == missing
    return torch.where(where, fill, x)


def extracted(x: Any, columns: Any, *, a: Attributes) -> Any:
    """ArrayFeatureExtractor: columns of the last axis."""
    chosen = x[..., whole_numbers(columns)]
    return chosen[None] if chosen.dim() == 1 else chosen


def _linear(x: Any, a: Attributes) -> Any:
    table = x if x.dim() == 2 else x[None]
    weights = _row(a["coefficients"], x).reshape(-1, table.shape[1])
    return table @ weights.T + _row(a.get("intercepts") or [0.0], x)


def _transformed(scores: Any, a: Attributes) -> Any:
    import torch

    kind = a.get("post_transform", "NONE")
    if kind == "SOFTMAX":
        return torch.softmax(scores, -1)
    if kind == "LOGISTIC":
        return torch.sigmoid(scores)
    if kind != "NONE":
        raise NotImplementedError(f"post_transform {kind}")
    return scores


def regressed(x: Any, *, a: Attributes) -> Any:
    """LinearRegressor."""
    return _transformed(_linear(x, a), a)


def classified(x: Any, *, a: Attributes) -> Any:
    """LinearClassifier: the label, and the scores."""
    scores = _linear(x, a)
    if scores.shape[1] < 2:
        raise NotImplementedError("one score for two classes")
    return scores.detach().argmax(1), _transformed(scores, a)


def by_support_vectors(x: Any, *, a: Attributes) -> Any:
    """SVMRegressor."""
    import torch

    if a.get("one_class", 0):
        raise NotImplementedError("one_class, which is a step")
    gamma, shift, degree = (*(a.get("kernel_params") or ()), 0.0, 0.0, 3.0)[:3]
    weights, kind = _row(a["coefficients"], x), a.get("kernel_type", "LINEAR")
    vectors = _row(a["support_vectors"], x).reshape(a.get("n_supports", 0) or 1, -1)
    products = x @ vectors.T
    if kind == "POLY":
        products = (gamma * products + shift) ** degree
    elif kind == "SIGMOID":
        products = torch.tanh(gamma * products + shift)
    elif kind == "RBF":
        products = torch.exp(-gamma * ((x[:, None] - vectors) ** 2).sum(-1))
    return _transformed((products @ weights[: len(vectors)] + a["rho"][0])[:, None], a)
