"""One node through the whole converter and the runtime, for tests of lowerings.

`run_node("Softmax", [x], {"axis": -1})` converts a model of that one node, runs the bundle, compares with
onnx.reference, and returns the outputs. `symbolic=True` makes every dim of the inputs a free dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.defs
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef.registry import Registry


def run_node(
    op_type: str,
    inputs: Sequence[np.ndarray | None],
    attrs: Mapping[str, Any] | None = None,
    domain: str = "",
    opset: int = 21,
    symbolic: bool = False,
    declared: Sequence[Sequence[int]] = (),
    known: Sequence[int] = (),
    n_outputs: int = 1,
    registry: Registry | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    native: bool = True,
    reference: bool = True,
) -> list[np.ndarray]:
    """The node's outputs. Inputs numbered in `known` are initializers; None is an absent input.

    `declared`: the outputs' shapes that the model states. A standard operator is compared with
    onnx.reference within rtol and atol. `native`: fail when the node would run on the host.
    `reference`: False where onnx.reference refuses the arguments.
    """
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(inputs)]
    feeds = {
        n: a for i, (n, a) in enumerate(zip(names, inputs, strict=True)) if a is not None and i not in known
    }
    outputs = [f"y{i}" for i in range(n_outputs)]
    node = helper.make_node(op_type, names, outputs, "node", domain=domain, **(attrs or {}))
    graph = helper.make_graph(
        [node],
        "single",
        [_info(n, a, symbolic) for n, a in feeds.items()],
        [_output_info(n, declared[i] if declared else None) for i, n in enumerate(outputs)],
        [numpy_helper.from_array(inputs[i], names[i]) for i in known],  # type: ignore[arg-type]
    )
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    source = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = ConvertOptions(registry=registry, passes=False, sample_seed=None, self_check=False)
    conversion = convert(source, options)
    (row,) = conversion.partition_table
    if native and row.target != "AscendEP":
        pytest.fail(f"{op_type} is not native: {row.reason}")
    results = ascend_ep.InferenceSession(conversion.to_bytes()).run(outputs, feeds)
    if reference and not domain and onnx.defs.has(op_type):
        expected = ReferenceEvaluator(source).run(outputs, feeds)
        for result, want in zip(results, expected, strict=True):
            assert result.dtype == want.dtype
            np.testing.assert_allclose(result, want, rtol=rtol, atol=atol, err_msg=op_type)
    return results


def _output_info(name: str, dims: Sequence[int] | None) -> onnx.ValueInfoProto:
    """An output of any type, of these dims if given."""
    info = helper.make_empty_tensor_value_info(name)
    if dims is not None:
        info.type.tensor_type.shape.CopyFrom(
            helper.make_tensor_value_info("", 1, dims).type.tensor_type.shape
        )
    return info


def _info(name: str, array: np.ndarray, symbolic: bool) -> onnx.ValueInfoProto:
    dims: list[int | str] = [f"{name}_d{i}" if symbolic else n for i, n in enumerate(array.shape)]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims)
