"""Random nodes beside onnxruntime's CPU provider and the float64 reference: of com.microsoft, and of windows.

`tools/fuzz_models --nodes` runs more of them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import pytest
from model_fuzzing.draw import Array, Case
from model_fuzzing.every_operator import FAMILIES, drawn
from model_fuzzing.judging import faults
from onnxruntime.capi import onnxruntime_pybind11_state as bindings

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph.shape_inference import definition
from ascend_ep.opdef.registry import Registry


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 200), marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FAMILIES)
def test_what_the_cpu_provider_computes(name: str, seeds: range) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of samples whose sizes don't fit each other
        found = {seed: faults(drawn(name, seed)) for seed in seeds}
    assert {f"{seed}: {drawn(name, seed)}": said for seed, said in found.items() if said} == {}


@pytest.mark.parametrize("attributes", [{}, {"softcap": 5.0}])
def test_what_pads_a_row_is_finite(attributes: dict[str, Any]) -> None:
    """The next layer multiplies it by a share of 0."""
    rng = np.random.default_rng(0)
    parts: list[Array | None] = [rng.standard_normal((2, 9, n)).astype(np.float32) for n in (64, 32, 32)]
    sizes = [np.array([8, 2], np.int32), np.array([9], np.int32)]
    named = {"num_heads": 4, "kv_num_heads": 2, "local_window_size": 2} | attributes
    filled = (np.arange(9) < np.array([[9], [3]]))[..., None]
    case = Case("GroupQueryAttention", [*parts, None, None, *sizes], named, specified={0: filled})
    assert faults(case) == ""


SCHEMAS = [s for s in bindings.get_all_operator_schema() if s.domain == "com.microsoft"]


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_definitions_mean_onnxruntimes_operator(schema: Any) -> None:
    """Whatever node of its domain a definition answers for has the inputs and attributes that it names."""
    opdef = definition(Registry(), schema.domain, schema.name, schema.since_version)
    if opdef is None:
        return
    assert len(opdef.inputs) == len(schema.inputs)
    assert {a.name for a in opdef.attributes} >= set(schema.attributes)
    if opdef.domain is not None:
        assert [i.name for i in opdef.inputs] == [i.name for i in schema.inputs]


def test_samples_of_masks_without_tokens(recwarn: pytest.WarningsRecorder) -> None:
    """What random inputs are made of takes masks of no columns, too; found by a node of these."""
    node = onnx.helper.make_node("Where", ["m", "x", "x"], ["y"])
    sizes = {"m": (onnx.TensorProto.BOOL, ["n", 1, 0]), "x": (onnx.TensorProto.FLOAT, ["n", 1, 0])}
    inputs = [onnx.helper.make_tensor_value_info(n, *s) for n, s in sizes.items()]
    outputs = [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)]
    graph = onnx.helper.make_graph([node], "empty", inputs, outputs)
    opsets = [onnx.helper.make_opsetid("", 17)]
    convert(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), ConvertOptions())
    assert not [w for w in recwarn if "mistake" in str(w.message)]
