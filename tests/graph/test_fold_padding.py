"""Pads become the padding of convolutions and pooling, where that changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from simplified_models import build, node, ops, simplified

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef.registry import Registry

SHAPE = (2, 4, 9, 8)
AROUND = [0, 0, 1, 0, 0, 0, 2, 1]
CONV: dict[str, Any] = {"strides": [2, 2]}
AVERAGE: dict[str, Any] = {"kernel_shape": [3, 3]}


def padded(
    reader: str,
    attributes: dict[str, Any],
    pads: list[int] = AROUND,
    fill: float | None = None,
    axes: list[int] | None = None,
    before: str = "Identity",
    **given: Any,
) -> onnx.ModelProto:
    """x [2, 4, 9, 8] -> before -> Pad -> reader -> y."""
    random = np.random.default_rng(1)
    constants = {"w": random.standard_normal((5, 4, 3, 3)).astype(np.float32), "pads": np.array(pads)}
    constants |= {} if fill is None else {"fill": np.array(fill, np.float32)}
    constants |= {} if axes is None else {"axes": np.array(axes)}
    names = ["b", "pads", "" if fill is None else "fill", *(["axes"] if axes else [])]
    inputs = ["p", "w"] if reader == "Conv" else ["p"]
    nodes = [
        node(before, ["x"], ["b"]),
        node("Pad", names, ["p"], **given),
        node(reader, inputs, ["y"], **attributes),
    ]
    return build(nodes, {"x": SHAPE}, ["y"], constants, opset=19)


FOLDED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("Conv", CONV, {}),
    ("Conv", {"pads": [1, 2, 0, 1]}, {"fill": 0.0}),
    ("Conv", {"auto_pad": "VALID"}, {}),
    ("Conv", {"dilations": [2, 2]}, {"pads": [1, 2, 3, 4], "axes": [-2, 3]}),
    ("Conv", {}, {"pads": [0, 0, 7, 0, 0, 0, 9, 0]}),
    ("AveragePool", AVERAGE, {}),
    ("AveragePool", AVERAGE | {"pads": [1, 1, 0, 1], "count_include_pad": 1}, {}),
    ("MaxPool", AVERAGE, {"fill": -np.inf}),
    ("MaxPool", AVERAGE | {"pads": [1, 1, 0, 1]}, {"before": "Relu"}),
]


@pytest.mark.parametrize(("reader", "attributes", "pad"), FOLDED)
def test_folded(registry: Registry, reader: str, attributes: dict[str, Any], pad: dict[str, Any]) -> None:
    source = padded(reader, attributes, **pad)
    assert ops(simplified(source, registry, x=SHAPE))["Pad"] == 0
    x = np.random.default_rng(2).standard_normal(SHAPE).astype(np.float32)
    mine = ascend_ep.InferenceSession(convert(source, ConvertOptions(self_check=False)).to_bytes())
    theirs = onnxruntime.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    for got, wanted in zip(mine.run(None, {"x": x}), theirs.run(None, {"x": x}), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-5)  # sums of 36 products below 10


OTHERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("Conv", {}, {"fill": 1.0}),
    ("Conv", {}, {"mode": "reflect"}),
    ("Conv", {}, {"pads": [0, 0, -1, 0, 0, 0, 1, 1]}),
    ("Conv", {"auto_pad": "SAME_UPPER"}, {}),
    ("AveragePool", AVERAGE | {"ceil_mode": 1, "strides": [2, 2]}, {}),
    (
        "AveragePool",
        AVERAGE | {"pads": [1, 1, 0, 1]},
        {"pads": [0, 0, 1, 1, 0, 0, 1, 1]},
    ),
    ("AveragePool", AVERAGE, {"pads": [0, 0, 3, 0, 0, 0, 0, 0]}),
    ("AveragePool", AVERAGE, {"pads": [0, 1, 1, 0, 0, 0, 1, 0]}),  # channels
    ("MaxPool", AVERAGE, {}),
    ("MaxPool", AVERAGE | {"dilations": [2, 2]}, {"before": "Relu"}),
    ("MaxPool", AVERAGE, {"fill": -3.0e38}),
    ("Relu", {}, {}),
]


@pytest.mark.parametrize(("reader", "attributes", "pad"), OTHERS)
def test_others_stay(
    registry: Registry, reader: str, attributes: dict[str, Any], pad: dict[str, Any]
) -> None:
    assert ops(simplified(padded(reader, attributes, **pad), registry, x=SHAPE))["Pad"] == 1


def test_a_pad_that_something_else_reads_stays_for_that(registry: Registry) -> None:
    source = padded("Conv", CONV)
    source.graph.output.append(onnx.helper.make_tensor_value_info("p", 1, None))
    found = simplified(source, registry, x=SHAPE)
    assert ops(found)["Pad"] == 1
    (conv,) = [n for n in found.graph if n.op_type == "Conv"]
    assert list(conv.attributes["pads"].value) == [1, 0, 2, 1]
