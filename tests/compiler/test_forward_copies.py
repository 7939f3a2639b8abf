"""Transpositions beside regions with channels last, and copies of copies."""

from __future__ import annotations

import random

import numpy as np
import onnx
import pytest
from onnx import helper
from small_models import FLOAT, model

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph.reference import reference_run
from ascend_ep.plan.plan import NativePartition

EXACT = ConvertOptions(precision="origin", self_check=False)
TO_FIRST, TO_LAST = [0, 3, 1, 2], [0, 2, 3, 1]
CHANNELS = 8


def kernels(source: onnx.ModelProto, *dims: int) -> list[str]:
    """The kernels of the model's only partition, whose results are right."""
    made = convert(source, EXACT)
    x = np.random.default_rng(0).standard_normal(dims).astype(np.float32)
    wanted = reference_run(source, {"x": x})
    results = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": x})
    for value, result in zip(source.graph.output, results, strict=True):
        right = wanted[value.name]
        assert result.shape == right.shape
        assert np.abs(result - right).max() <= 2e-5 * max(1, np.abs(right).max())
    (part,) = (p for p in made.plan.partitions if isinstance(p, NativePartition))
    return [insn.kernel for insn in part.insns]


def convolution(x: str, y: str) -> onnx.NodeProto:
    return helper.make_node("Conv", [x, "w"], [y], y, pads=[1, 1, 1, 1])


def transposed(x: str, y: str, perm: list[int]) -> onnx.NodeProto:
    return helper.make_node("Transpose", [x], [y], y, perm=perm)


def around(nodes: list[onnx.NodeProto], *outputs: str) -> onnx.ModelProto:
    weights = np.random.default_rng(1).standard_normal((CHANNELS, CHANNELS, 3, 3)).astype(np.float32) / 9
    inputs = [("x", FLOAT, ["n", 5, "m", CHANNELS])]
    return model(nodes, inputs, [(y, FLOAT, None) for y in outputs], {"w": weights})


def test_transpositions_around_a_convolution_go() -> None:
    """As exporters of frameworks with channels last write each convolution."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        transposed("r", "a", TO_FIRST),
        convolution("a", "b"),
        transposed("b", "c", TO_LAST),
        helper.make_node("ReduceMax", ["c"], ["y"], axes=[3], keepdims=0),
    ]
    assert kernels(around(nodes, "y"), 2, 5, 7, CHANNELS) == ["elementwise", "conv_last", "reduce"]


def test_what_others_read_stays() -> None:
    nodes = [
        transposed("x", "a", TO_FIRST),
        convolution("a", "b"),
        transposed("b", "y", TO_LAST),
        helper.make_node("Softmax", ["a"], ["z"], axis=2),
    ]
    found = kernels(around(nodes, "y", "z"), 2, 5, 7, CHANNELS)
    assert sorted(found)[:3] == ["conv_last", "copy", "copy"]


def test_a_copy_of_a_copy_reads_what_was_there_first() -> None:
    nodes = [
        transposed("x", "a", [1, 0, 3, 2]),
        transposed("a", "b", [2, 3, 1, 0]),
        helper.make_node("Softmax", ["a"], ["z"]),
        helper.make_node("Softmax", ["b"], ["y"]),
    ]
    kernels(around(nodes, "y", "z"), 2, 5, 7, CHANNELS)


@pytest.mark.parametrize("seed", range(16))
def test_random_chains(seed: int) -> None:
    """Every value that is there may be read again and may be an output."""
    rng = random.Random(seed)
    values = [("x", (2, 5, 7, CHANNELS))]
    nodes: list[onnx.NodeProto] = []
    for i in range(rng.randint(3, 9)):
        (x, dims), y = rng.choice(values[-3:]), f"v{i}"
        kind = rng.choice(["turn", "turn", "relu", "conv", "sum", "softmax"])
        if kind == "conv" and dims[1] == CHANNELS:
            nodes.append(convolution(x, y))
        elif kind == "turn":
            perm = rng.choice([TO_FIRST, TO_LAST, rng.sample(range(4), 4)])
            nodes.append(transposed(x, y, perm))
            dims = tuple(dims[axis] for axis in perm)  # type: ignore[assignment]
        elif kind == "sum":
            other = rng.choice([name for name, d in values if d == dims])
            nodes.append(helper.make_node("Add", [x, other], [y]))
        else:
            nodes.append(helper.make_node("Softmax" if kind == "softmax" else "Relu", [x], [y]))
        values.append((y, dims))
    names = [name for name, _ in values[1:]]
    outputs = sorted({names[-1], *rng.sample(names, rng.randint(0, 2))})
    kernels(around(nodes, *outputs), *values[0][1])


def test_a_spectrum_and_its_transposition() -> None:
    """A convolution of one channel whose result a view with an axis more transposes."""
    weights = np.random.default_rng(1).standard_normal((9, 1, 16)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], strides=[4]),
        helper.make_node("Unsqueeze", ["c", "one"], ["u"]),
        helper.make_node("Transpose", ["u"], ["t"], perm=[0, 1, 3, 2]),
        helper.make_node("Softmax", ["t"], ["y"]),
    ]
    initializers = {"w": weights, "one": np.array([1])}
    source = model(nodes, [("x", FLOAT, ["n", 1, "m"])], [("y", FLOAT, None)], initializers)
    assert kernels(source, 2, 1, 50) == ["conv_last", "softmax"]
