"""Functions of a model that name another version of an operator set than the model, as exporters mix them."""

from __future__ import annotations

import numpy as np
import onnx.helper as oh
import onnxruntime as ort
import pytest
from onnx import NodeProto

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError

X = np.random.default_rng(5).standard_normal((2, 3, 4)).astype(np.float32)
NODE = oh.make_node

#: Nodes that make y of x, and the version of the function's operator set.
SAME: list[tuple[int, list[NodeProto]]] = [
    (19, [NODE("Cast", ["x"], ["d"], to=11), NODE("Cast", ["d"], ["y"], to=1)]),
    (13, [NODE("Cast", ["x"], ["d"], to=11), NODE("Cast", ["d"], ["y"], to=1)]),
    (13, [NODE("Add", ["x", "x"], ["y"])]),
    (13, [NODE("Softmax", ["x"], ["y"])]),
    (13, [NODE("Shape", ["x"], ["s"]), NODE("Reshape", ["x", "s"], ["y"])]),
    (18, [NODE("ReduceMax", ["x"], ["y"], keepdims=0)]),
    (15, [NODE("Relu", ["x"], ["h"]), NODE("Pow", ["h", "h"], ["y"])]),
    (12, [NODE("Erf", ["x"], ["y"])]),
]
#: Nodes that say something else in the model's version, or nothing.
OTHER: list[tuple[int, list[NodeProto]]] = [
    (11, [NODE("Softmax", ["x"], ["y"])]),  # its default axis is 1
    (12, [NODE("LogSoftmax", ["x"], ["y"])]),
    (11, [NODE("ReduceSum", ["x"], ["y"], axes=[1])]),
    (13, [NODE("ReduceMax", ["x"], ["y"], axes=[1])]),
    (11, [NODE("Unsqueeze", ["x"], ["y"], axes=[0])]),
]


def _with(version: int, nodes: list[NodeProto]) -> bytes:
    function = oh.make_function("mine", "F", ["x"], ["y"], nodes, [oh.make_opsetid("", version)])
    boundary = [oh.make_tensor_value_info(name, 1, None) for name in ("x", "z")]
    boundary[0].CopyFrom(oh.make_tensor_value_info("x", 1, [2, 3, 4]))
    calls = [NODE("F", ["x"], ["h"], domain="mine"), NODE("Neg", ["h"], ["z"])]
    graph = oh.make_graph(calls, "versions", boundary[:1], boundary[1:])
    imports = [oh.make_opsetid("", 20), oh.make_opsetid("mine", 1)]
    return oh.make_model(graph, functions=[function], opset_imports=imports, ir_version=9).SerializeToString()


@pytest.mark.parametrize(("version", "nodes"), SAME)
def test_operators_that_mean_the_same(version: int, nodes: list[NodeProto]) -> None:
    content = _with(version, nodes)
    expected = ort.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, {"x": X})[0]
    found = ascend_ep.InferenceSession(convert(content).to_bytes()).run(None, {"x": X})[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)  # functions of one argument, float32


@pytest.mark.parametrize(("version", "nodes"), OTHER)
def test_operators_that_do_not_are_refused(version: int, nodes: list[NodeProto]) -> None:
    """Never taken for the model's version in silence."""
    with pytest.raises(AscendError, match=f"version 20 in the model but version {version}") as caught:
        convert(_with(version, nodes))
    assert caught.value.code == "E10041"
