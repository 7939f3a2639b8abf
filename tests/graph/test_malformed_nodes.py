"""Nodes that lack inputs or have types of no size, as fuzzing makes them: no pass raises for them."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper

from ascend_ep.errors import AscendError
from ascend_ep.graph.fusion.assessment import Tensor
from ascend_ep.graph.load import load_model
from ascend_ep.graph.passes.pipeline import run_passes
from ascend_ep.opdef.registry import Registry


@pytest.mark.parametrize("operator", ["Cast", "Transpose", "DequantizeLinear"])
@pytest.mark.parametrize("inputs", [[], [""], ["x"]])
def test_nodes_that_lack_inputs(operator: str, inputs: list[str]) -> None:
    attributes = {"to": TensorProto.FLOAT} if operator == "Cast" else {}
    nodes = [
        helper.make_node(operator, inputs, ["h"], **attributes),
        helper.make_node("Neg", ["h"], ["y"]),
    ]
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy"]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:])
    model = load_model(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    )
    refused = ""
    try:
        run_passes(model, Registry.from_options())
    except AscendError as error:
        refused = error.code
    assert refused.startswith(("E1", "E4")) or model.graph.outputs[0].producer() is not None


def test_strings_have_no_size() -> None:
    assert Tensor((2,), TensorProto.STRING).bytes == 8
