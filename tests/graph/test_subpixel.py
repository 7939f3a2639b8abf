"""Transposed convolutions become convolutions and a change of places, with onnxruntime's results."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from simplified_models import build, node

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.plan.plan import Insn, NativePartition

rng = np.random.default_rng(0)


def transposed(
    kernel: tuple[int, ...], bias: bool, symbolic: bool, attributes: dict[str, object]
) -> onnx.ModelProto:
    weights = {"w": rng.standard_normal((6, 5, *kernel)).astype(np.float32)}
    if bias:
        weights["b"] = rng.standard_normal(5).astype(np.float32)
    made = node("ConvTranspose", ["x", *weights], ["y"], **attributes)
    shape: tuple[int | str, ...] = ("N", 6, *("HW" if symbolic else (7, 4))[: len(kernel)])
    return build([made], {"x": shape}, ["y"], weights)


def compared(model: onnx.ModelProto, *shapes: tuple[int, ...]) -> list[int]:
    """Runs on each shape; how each convolution of the plan is written: 1 transposed, 0 not."""
    insns = instructions(model, *shapes)
    found = [i for i in insns if i.kernel.startswith("conv")]
    return [int(i.kernel == "conv_transposed_last" or (i.kernel == "conv" and i.ints[2] == 1)) for i in found]


def instructions(model: onnx.ModelProto, *shapes: tuple[int, ...]) -> list[Insn]:
    """Of the plan, whose results on each shape are onnxruntime's."""
    conversion = convert(model, ConvertOptions(self_check=False, sample_seed=None, codegen="off"))
    mine = ascend_ep.InferenceSession(conversion.to_bytes())
    theirs = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for shape in shapes:
        feeds = {"x": rng.standard_normal(shape).astype(np.float32)}
        for got, want in zip(mine.run(None, feeds), theirs.run(None, feeds), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-5)
    return [i for p in conversion.plan.partitions if isinstance(p, NativePartition) for i in p.insns]


#: kernel, attributes
CASES = [
    ((4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((2, 2), {"strides": [2, 2]}),
    ((4, 6), {"strides": [2, 2], "pads": [0, 3, 1, 2], "output_padding": [1, 1]}),
    ((6, 3), {"strides": [3, 3], "pads": [3, 0, 4, 0]}),
    ((3, 3), {"pads": [1, 0, 1, 2]}),
    ((16,), {"strides": [8], "pads": [4, 4]}),
    ((3,), {"strides": [3], "pads": [1, 0]}),
    ((4,), {"strides": [2], "pads": [2, 3]}),
]


@pytest.mark.parametrize(("kernel", "attributes"), CASES)
def test_becomes_a_convolution(kernel: tuple[int, ...], attributes: dict[str, object]) -> None:
    for symbolic in (False, True):
        model = transposed(kernel, not symbolic, symbolic, attributes)
        sizes = [(1, 6, 7, 4), (3, 6, 5, 9)] if symbolic else [(2, 6, 7, 4)]
        assert compared(model, *(s[: 2 + len(kernel)] for s in sizes)) == [0]


@pytest.mark.parametrize("version", [7, 9, 10, 11, 12])
@pytest.mark.parametrize("kernel", [(5, 5), (5,)])
def test_in_operator_sets_that_lack_what_is_made(kernel: tuple[int, ...], version: int) -> None:
    """DepthToSpace has a mode since 11, Slice bounds as operands since 10."""
    model = transposed(kernel, True, True, {"strides": [5] * len(kernel), "pads": [1, 2] * len(kernel)})
    model.opset_import[0].version = version
    assert compared(model, (2, 6, 7, 4)[: 2 + len(kernel)]) == [0]


@pytest.mark.parametrize(
    ("kernel", "attributes"),
    [
        (
            (3, 3),
            {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
        ),  # a zero would take part
        ((4, 4), {"strides": [2, 1], "pads": [1, 1, 1, 1]}),
        ((4, 4), {"strides": [2, 2], "output_padding": [1, 1]}),  # rows that no tap reaches
        ((4,), {"strides": [2], "dilations": [2]}),
    ],
)
def test_stays(kernel: tuple[int, ...], attributes: dict[str, object]) -> None:
    assert compared(transposed(kernel, True, False, attributes), (2, 6, 7, 4)[: 2 + len(kernel)]) == [1]


def test_infinities_stay_where_the_kernel_has_them() -> None:
    model = transposed((4, 4), True, False, {"strides": [2, 2], "pads": [1, 1, 1, 1]})
    x = rng.standard_normal((1, 6, 7, 4)).astype(np.float32)
    x[0, 2, 3, 1] = np.inf
    session = ascend_ep.InferenceSession(convert(model, ConvertOptions(codegen="off")).to_bytes())
    theirs = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (got,), (want,) = session.run(None, {"x": x}), theirs.run(None, {"x": x})
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


@pytest.mark.parametrize("activation", ["Relu", "Sigmoid", "Tanh"])
@pytest.mark.parametrize("named", ["y", "z"])
def test_an_activation_belongs_to_the_convolution(activation: str, named: str) -> None:
    """Also behind a batch norm, which is folded."""
    random = {n: rng.standard_normal(5).astype(np.float32) for n in ("scale", "shift", "mean")}
    weights = {"w": rng.standard_normal((6, 5, 4, 4)).astype(np.float32), "var": np.ones(5, np.float32)}
    nodes = [
        node("ConvTranspose", ["x", "w"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["z"]),
        node(activation, ["z"], ["y"]),
    ]
    model = build(nodes[: 2 if named == "z" else 3], {"x": ("N", 6, 7, 4)}, [named], random | weights)
    kernels = [i.kernel for i in instructions(model, (1, 6, 7, 4), (3, 6, 7, 4))]
    assert kernels.count("conv") + kernels.count("conv_last") == 1
    assert not {"batch_norm", "elementwise"} & set(kernels)


def test_an_activation_of_what_is_a_result_stays() -> None:
    weights = {"w": rng.standard_normal((6, 5, 2, 2)).astype(np.float32)}
    nodes = [node("ConvTranspose", ["x", "w"], ["z"], strides=[2, 2]), node("Relu", ["z"], ["y"])]
    model = build(nodes, {"x": (1, 6, 7, 4)}, ["z", "y"], weights)
    assert [i.kernel for i in instructions(model, (1, 6, 7, 4))].count("elementwise") == 1
