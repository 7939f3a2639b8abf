"""With bfloat16, the product behind the convolutions of an image model keeps float32 arithmetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import helper
from small_models import FLOAT, model

import ascend_ep
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.precision.mixed_lists import MixedLists
from ascend_ep.compiler.precision.precision import PrecisionLists
from ascend_ep.plan.plan import NativePartition

NARROW = ConvertOptions(self_check=False, precision="allow_mix_precision_bf16")
CHANNELS, CLASSES = 64, 40


def classifier(scale: float = 1.0, pooled: bool = True) -> onnx.ModelProto:
    """Convolutions and a Gemm with weights times `scale`: behind a pool, or of every channel's plane."""
    rng = np.random.default_rng(0)
    side = 1 if pooled else 12
    weights = {
        "kernel": rng.standard_normal((CHANNELS, 16, 3, 3)).astype(np.float32),
        "second": rng.standard_normal((CHANNELS, CHANNELS, 3, 3)).astype(np.float32),
        "w": (rng.standard_normal((CHANNELS * side * side, CLASSES)) * scale).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["first"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["first"], ["positive"]),
        helper.make_node("Conv", ["positive", "second"], ["image"], pads=[1, 1, 1, 1]),
    ]
    if pooled:
        nodes.append(helper.make_node("GlobalAveragePool", ["image"], ["pooled"]))
    nodes.append(helper.make_node("Flatten", ["pooled" if pooled else "image"], ["flat"]))
    nodes.append(helper.make_node("Gemm", ["flat", "w"], ["y"]))
    return model(nodes, [("x", FLOAT, [2, 16, 12, 12])], [("y", FLOAT, None)], weights)


def layouts(conversion: Conversion) -> dict[str, str]:
    """Of the constant weights, by kernel."""
    parts = [p for p in conversion.plan.partitions if isinstance(p, NativePartition)]
    found = [(i.kernel, i.ins[1]) for p in parts for i in p.insns if len(i.ins) > 1]
    return {kernel: w.weight.layout for kernel, w in found if w is not None and w.weight is not None}


def test_a_head_is_float16_and_computes_float32() -> None:
    made = convert(classifier(), NARROW)
    assert layouts(made) == {"conv_last": "vnni2_32", "matmul": "fp16_32"}
    x = np.random.default_rng(1).standard_normal((2, 16, 12, 12)).astype(np.float32)
    exact = ascend_ep.InferenceSession(convert(classifier(), ConvertOptions(self_check=False)).to_bytes())
    wanted, got = (s.run(None, {"x": x})[0] for s in (exact, ascend_ep.InferenceSession(made.to_bytes())))
    assert 0 < np.abs(got - wanted).max() < 2.0**-8 * np.abs(wanted).max()


@pytest.mark.parametrize("scale", [1e6, 1e-9])
def test_what_float16_cannot_hold_is_bfloat16(scale: float) -> None:
    assert layouts(convert(classifier(scale), NARROW))["matmul"] == "vnni2_32"


def test_a_product_that_takes_time_is_bfloat16() -> None:
    assert layouts(convert(classifier(pooled=False), NARROW))["matmul"] == "vnni2_32"


@pytest.mark.parametrize(
    ("name", "layout"), [("Gemm", "vnni2_32"), ("MatMulV2", "vnni2_32"), ("Conv", "fp16_32")]
)
def test_a_head_that_the_white_list_names_is_bfloat16(name: str, layout: str) -> None:
    lists = PrecisionLists(mixed=MixedLists(white={name}))
    made = convert(classifier(), replace(NARROW, precision_lists=lists))
    assert layouts(made) == {"conv_last": "vnni2_32", "matmul": layout}
