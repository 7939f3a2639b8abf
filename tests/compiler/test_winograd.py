"""Which convolutions become conv_winograd, and that the model's results stay within float32's bound."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from small_models import FLOAT, model

import ascend_ep
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph.reference import reference_run
from ascend_ep.plan.plan import NativePartition

EXACT = ConvertOptions(self_check=False)


def convolutions(channels: int, size: int | str, **attributes: object) -> onnx.ModelProto:
    """Three convolutions of 3 x 3; the attributes are the last one's, and without any it has a residual."""
    rng = np.random.default_rng(0)
    group = int(attributes.get("group", 1))
    shapes = {"w": (channels, channels, 3, 3), "v": (channels, channels // group, 3, 3), "b": (channels,)}
    weights = {n: (rng.standard_normal(s) / 24).astype(np.float32) for n, s in shapes.items()}
    second: dict[str, object] = {"pads": [1, 1, 1, 1], **attributes}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], "first", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["c", "w", "b"], ["m"], "middle", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["m"], ["r"], "relu"),
        helper.make_node("Conv", ["r", "v", "b"], ["d"], "second", **second),
        helper.make_node("Relu", ["d"], ["y"], "last"),
    ]
    if not attributes:
        nodes[4].input[0] = "e"
        nodes.insert(4, helper.make_node("Add", ["d", "r"], ["e"], "sum"))
    return model(nodes, [("x", FLOAT, [1, channels, size, size])], [("y", FLOAT, None)], weights)


def kernels(conversion: Conversion) -> list[str]:
    (part,) = (p for p in conversion.plan.partitions if isinstance(p, NativePartition))
    return [i.kernel for i in part.insns if i.kernel.startswith("conv")]


@pytest.mark.parametrize(("size", "given"), [(9, 9), ("s", 8)])
def test_results(size: int | str, given: int) -> None:
    source = convolutions(64, size)
    made = convert(source, EXACT)
    assert kernels(made) == ["conv_winograd"] * 3
    x = np.random.default_rng(1).standard_normal((1, 64, given, given)).astype(np.float32)
    (y,) = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": x})
    wanted = reference_run(source, {"x": x})["y"]
    assert np.abs(y - wanted).max() <= 2e-5 * np.abs(wanted).max()  # the project's bound of float32


@pytest.mark.parametrize(
    "given",
    [{"strides": [2, 2]}, {"dilations": [2, 2], "pads": [2, 2, 2, 2]}, {"group": 2}],
)
def test_others_stay(given: dict[str, object]) -> None:
    assert kernels(convert(convolutions(64, 8, **given), EXACT)) == [
        "conv_winograd",
        "conv_winograd",
        "conv_last",
    ]


@pytest.mark.parametrize(("channels", "size"), [(31, 8), (64, 6), (64, 5)])
def test_where_it_does_not_pay(channels: int, size: int) -> None:
    assert kernels(convert(convolutions(channels, size), EXACT)) == ["conv_last"] * 3


def test_not_in_bfloat16() -> None:
    options = ConvertOptions(self_check=False, precision="allow_mix_precision_bf16")
    assert kernels(convert(convolutions(64, 8), options)) == ["conv_last"] * 3


@pytest.mark.parametrize(("taps", "pads"), [(3, 1), (1, 0)])
@pytest.mark.parametrize("planes", [4, "d"])
def test_volumes(taps: int, pads: int, planes: int | str) -> None:
    rng = np.random.default_rng(0)
    weights = {"w": (rng.standard_normal((40, 40, taps, 3, 3)) / 30).astype(np.float32)}
    around = [pads, 1, 1] * 2
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "first", pads=around),
        helper.make_node("Conv", ["c", "w"], ["d"], "second", pads=around, strides=[2, 1, 1]),
        helper.make_node("Conv", ["d", "w"], ["y"], "last", pads=around, strides=[1, 2, 1]),
    ]
    source = model(nodes, [("x", FLOAT, [1, 40, planes, 8, 9])], [("y", FLOAT, None)], weights)
    made = convert(source, EXACT)
    assert kernels(made) == ["conv_winograd", "conv_winograd", "conv_last"]
    x = rng.standard_normal((1, 40, 4, 8, 9)).astype(np.float32)
    (y,) = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": x})
    wanted = reference_run(source, {"x": x})["y"]
    assert np.abs(y - wanted).max() <= 2e-5 * np.abs(wanted).max()
