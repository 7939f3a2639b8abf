"""Small models for the tests of ascend-atc, and running one of its command lines in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ascend_ep.cli import atc

EXACT = "--precision_mode=must_keep_origin_dtype"
#: What a correct command line says of a model, besides the model itself.
PLAIN = ["--framework=5", "--output=m", "--soc_version=Ascend910B3", EXACT]


def weight(name: str, *shape: int) -> onnx.TensorProto:
    """A float32 initializer of normal numbers."""
    return numpy_helper.from_array(
        np.random.default_rng(len(name)).standard_normal(shape).astype(np.float32), name
    )


def image_model(
    channels: int = 3, size: int = 12, batch: int | str = 1, dtype: int = TensorProto.FLOAT
) -> onnx.ModelProto:
    """x [batch, channels, size, size] -> conv1 -> relu1 -> y; the weights are of x's type."""
    weights = numpy_helper.to_array(weight("w", 4, channels, 3, 3)).astype(
        helper.tensor_dtype_to_np_dtype(dtype)
    )
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv1", pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["y"], name="relu1"),
    ]
    return model(
        nodes,
        [helper.make_tensor_value_info("x", dtype, [batch, channels, size, size])],
        [helper.make_tensor_value_info("y", dtype, None)],
        [numpy_helper.from_array(weights, "w")],
    )


def chain_model() -> onnx.ModelProto:
    """x [batch, 8] -> fc1 (MatMul) -> gelu-free fc2 (MatMul) -> softmax1 -> y, and z from fc1."""
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="fc1"),
        helper.make_node("Relu", ["a"], ["r"], name="relu1"),
        helper.make_node("MatMul", ["r", "w2"], ["b"], name="fc2"),
        helper.make_node("Softmax", ["b"], ["y"], name="softmax1"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return model(nodes, [x], [y], [weight("w1", 8, 16), weight("w2", 16, 4)])


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Sequence[onnx.TensorProto] = (),
    opset: int = 17,
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def save(proto: onnx.ModelProto, path: Path | str = "m.onnx") -> None:
    Path(path).write_bytes(proto.SerializeToString())


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str], str]:
    """Exit status, lines of standard output, and standard error of one command line."""
    capsys.readouterr()
    status = atc.main(words)
    captured = capsys.readouterr()
    return status, captured.out.splitlines(), captured.err


def failure(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command line that must fail prints under atc's verdict."""
    status, lines, _ = run(capsys, *words)
    assert status == 255, lines
    at = lines.index(atc.FAILURE)
    assert lines[at - 1] == "..."
    return "\n".join(lines[at + 1 :])
