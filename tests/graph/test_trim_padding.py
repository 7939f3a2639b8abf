"""What a slice cuts off a convolution's padding is not computed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from simplified_models import build, node, ops, simplified

from ascend_ep.opdef.registry import Registry

Bounds = tuple[list[int], list[int], list[int], list[int]]


def causal(length: int | str, bounds: Bounds, **attributes: object) -> onnx.ModelProto:
    """A convolution of three taps, two places apart, of [N, 4, length], and the slice of its result."""
    random = np.random.default_rng(1)
    constants = {"w": random.standard_normal((5, 4, 3)).astype(np.float32)}
    constants |= {n: np.array(v) for n, v in zip(("first", "last", "axes", "steps"), bounds, strict=True)}
    given = {"dilations": [2], "pads": [4, 4]} | attributes
    nodes = [
        node("Conv", ["x", "w"], ["a"], **given),
        node("Slice", ["a", "first", "last", "axes", "steps"], ["b"]),
        node("Relu", ["b"], ["y"]),
    ]
    return build(nodes, {"x": ("N", 4, length)}, ["y"], constants)


def found(registry: Registry, length: int | str, bounds: Bounds, **attributes: object) -> Counter[str]:
    return ops(simplified(causal(length, bounds, **attributes), registry, x=(2, 4, 12)))


@pytest.mark.parametrize(
    ("length", "bounds"),
    [
        ("L", ([0], [-4], [2], [1])),
        ("L", ([2], [-1], [-1], [1])),
        (12, ([0], [12], [2], [1])),
        ("L", ([3], [2**63 - 1], [2], [1])),
    ],
)
def test_cut_padding_is_not_computed(registry: Registry, length: int | str, bounds: Bounds) -> None:
    assert found(registry, length, bounds)["Slice"] == 0


@pytest.mark.parametrize(
    ("length", "bounds", "attributes"),
    [
        ("L", ([0], [-5], [2], [1]), {}),  # more than the padding
        ("L", ([0], [12], [2], [1]), {}),  # of a result whose length is not known
        ("L", ([0], [-4], [2], [2]), {}),
        ("L", ([0], [-4], [1], [1]), {}),
        ("L", ([-3], [-1], [2], [1]), {}),
        ("L", ([0], [-1], [2], [1]), {"strides": [2]}),
        (12, ([0], [3], [2], [1]), {}),
        ("L", ([3], [-4], [2], [1]), {}),  # may leave nothing
    ],
)
def test_other_slices_stay(
    registry: Registry, length: int | str, bounds: Bounds, attributes: dict[str, object]
) -> None:
    assert found(registry, length, bounds, **attributes)["Slice"] == 1
