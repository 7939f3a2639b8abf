"""Small models, and what is true of every model after its passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import onnx
import onnx_ir as ir
from onnx import TensorProto, helper, numpy_helper

from ascend_ep.graph import load_model, run_passes
from ascend_ep.graph.reference import reference_run
from ascend_ep.opdef.registry import Registry

Shape = Sequence[int | str]


def build(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, Shape],
    outputs: Sequence[str],
    constants: dict[str, np.ndarray] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def ops(model: ir.Model) -> Counter[str]:
    return Counter(n.op_type for n in model.graph)


def simplified(proto: onnx.ModelProto, registry: Registry, **shapes: tuple[int, ...]) -> ir.Model:
    """After the passes; same results on random inputs of these shapes, and a second run changes nothing."""
    random = np.random.default_rng(0)
    feeds = {n: random.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    before = reference_run(proto, feeds, registry)
    model = run_passes(load_model(proto), registry)
    after = reference_run(ir.to_proto(model), feeds, registry)
    assert list(before) == list(after)
    for name, expected in before.items():
        np.testing.assert_allclose(after[name], expected, rtol=1e-6, atol=1e-6, err_msg=name)
        assert after[name].shape == expected.shape
    count = len(model.graph)
    assert len(run_passes(model, registry).graph) == count
    return model


node = helper.make_node
