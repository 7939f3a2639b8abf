"""Operators of any number of tensors in PyTorch."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ascend_ep.frameworks.torch.equivalent_arguments import Attributes, whole_numbers


def added(*tensors: Any, a: Attributes) -> Any:
    """Sum."""
    return sum(tensors[1:], tensors[0] * 1)


def averaged(*tensors: Any, a: Attributes) -> Any:
    """Mean."""
    return sum(tensors[1:], tensors[0]) / len(tensors)


def largest(*tensors: Any, a: Attributes) -> Any:
    """Max."""
    import torch

    return reduce(torch.maximum, tensors[1:], tensors[0] * 1)


def least(*tensors: Any, a: Attributes) -> Any:
    """Min."""
    import torch

    return reduce(torch.minimum, tensors[1:], tensors[0] * 1)


def joined(*tensors: Any, a: Attributes) -> Any:
    """Concat."""
    import torch

    return torch.cat(tensors, a["axis"])


def contracted(*tensors: Any, a: Attributes) -> Any:
    """Einsum."""
    import torch

    return torch.einsum(a["equation"].replace(" ", ""), *tensors)


def parts(x: Any, sizes: Any, *, a: Attributes) -> Any:
    """Split: parts alike, the last one smaller, or of given sizes."""
    axis = a.get("axis", 0)
    if sizes is not None:
        return x.split(whole_numbers(sizes), axis)
    count = a["num_outputs"]
    each = -(-x.shape[axis] // count)
    return x.split([each] * (count - 1) + [x.shape[axis] - each * (count - 1)], axis)


def features(*tensors: Any, a: Attributes) -> Any:
    """FeatureVectorizer: the columns of tables side by side."""
    import torch

    return torch.cat([t.flatten(1) if t.dim() > 1 else t[None] for t in tensors], 1)
