"""Lowers one ONNX node and runs the instructions it became, kernel by kernel, on numpy arrays.

`check(node, inputs, opset)` compares the results with onnxruntime's for the same one-node model; inputs
named in `known` are constants at conversion. `run` takes symbolic dims and bindings as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from kernel_call import DTYPES, NUMPY, Halves32, Packed, Pairs32, Panel32, Quads32, call
from numpy.lib.stride_tricks import as_strided

from ascend_ep.compiler.lower import lowering
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, lower_node
from ascend_ep.opdef.dims import Dim, evaluate
from ascend_ep.plan.tile_encoding import kernel_arguments

PANELS = {kind.layout: kind for kind in (Panel32, Pairs32, Halves32, Quads32)}


class PlanRun:
    """The values of a plan while its instructions run."""

    def __init__(self, bindings: Mapping[str, int]) -> None:
        self.bindings = bindings
        self.arrays: dict[int, np.ndarray] = {}

    def dims(self, dims: Sequence[Dim]) -> tuple[int, ...]:
        return tuple(evaluate(d, self.bindings) for d in dims)

    def array(self, ref: Ref) -> np.ndarray:
        if ref.base is None:
            if ref.weight is not None:
                return np.asarray(ref.weight.load()).reshape(self.dims(ref.dims))
            return self.arrays[id(ref)]
        base = self.array(ref.base).reshape(-1)
        shape = self.dims(ref.dims)
        if 0 in shape:
            return np.zeros(shape, base.dtype)
        offset = evaluate(ref.offset, self.bindings)
        if ref.strides is None:
            return base[offset : offset + int(np.prod(shape))].reshape(shape)
        strides = self.dims(ref.strides)
        reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        assert offset + sum(r for r in reach if r < 0) >= 0, "the view begins before its base"
        assert offset + sum(r for r in reach if r > 0) < base.size, "the view ends after its base"
        return as_strided(base[offset:], shape, [s * base.itemsize for s in strides])

    def operand(self, ref: Ref) -> np.ndarray | Packed:
        packed = None if ref.weight is None else PANELS.get(ref.weight.layout)
        return self.array(ref) if packed is None else packed(self.array(ref))

    def run(self, b: PlanBuilder, isa: int | None, threads: int) -> None:
        for insn in b.insns:
            ins = [None if r is None else self.operand(r) for r in insn.ins]
            outs = [(NUMPY[r.dtype], self.dims(r.dims)) for r in insn.outs]
            ints, floats = kernel_arguments(insn)
            results = call(insn.kernel, ins, outs, self.dims(ints), floats, isa, threads)
            self.arrays.update({id(r): a for r, a in zip(insn.outs, results, strict=True)})


def view_of(
    node: onnx.NodeProto,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, tuple[int, Sequence[Dim]]],
    opset: int,
    known: Sequence[str] = (),
    dims: Mapping[str, Sequence[Dim]] | None = None,
) -> NodeView:
    """The node as a lowering sees it."""
    shapes = dims or {}
    ins = [
        Operand(
            n,
            DTYPES[inputs[n].dtype],
            tuple(shapes.get(n, inputs[n].shape)),
            inputs[n] if n in known else None,
        )
        if n
        else None
        for n in node.input
    ]
    outs = [Operand(n, outputs[n][0], tuple(outputs[n][1])) if n else None for n in node.output]
    attributes = {a.name: _attribute(a) for a in node.attribute}
    return NodeView(node.op_type, ins, outs, attributes, node.domain, opset, node.name)


def _attribute(a: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(a)
    if a.type == onnx.AttributeProto.TENSOR:
        return onnx.numpy_helper.to_array(value)
    return value.decode() if isinstance(value, bytes) else value


def run(
    kernel: str,
    node: NodeView,
    inputs: Mapping[str, np.ndarray],
    bindings: Mapping[str, int] | None = None,
    isa: int | None = None,
    threads: int = 2,
) -> list[np.ndarray | None]:
    """Outputs of the node, in order. `kernel` is the lowering's name, as op_schemas gives it."""
    function = lowering(kernel)
    assert function is not None, f"no lowering is named {kernel}"
    b = PlanBuilder(outputs=[o.name for o in node.outputs if o is not None])
    plan = PlanRun(bindings or {})
    for operand in node.inputs:
        if operand is not None and operand.constant is None and operand.shape_value is None:
            plan.arrays[id(b.input(operand))] = inputs[operand.name]
    lower_node(node, function, b)
    results = [None if o is None else b.result(o) for o in node.outputs]
    plan.run(b, isa, threads)
    return [None if r is None else plan.array(r) for r in results]


def reference(node: onnx.NodeProto, inputs: Mapping[str, np.ndarray], opset: int) -> dict[str, np.ndarray]:
    """What onnxruntime computes for a model of this one node."""
    feeds = {n: inputs[n] for n in dict.fromkeys(node.input) if n}
    graph = onnx.helper.make_graph(
        [node],
        "one",
        [onnx.helper.make_tensor_value_info(n, DTYPES[a.dtype], a.shape) for n, a in feeds.items()],
        [onnx.helper.make_empty_tensor_value_info(n) for n in node.output if n],
    )
    opsets = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    model = onnx.shape_inference.infer_shapes(model)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [n for n in node.output if n]
    return dict(zip(names, session.run(names, feeds), strict=True))


def check(
    kernel: str,
    node: onnx.NodeProto,
    inputs: Mapping[str, np.ndarray],
    opset: int,
    known: Sequence[str] = (),
    rtol: float = 0.0,
    atol: float = 0.0,
) -> None:
    """Lowered and run here equals onnxruntime (exactly, unless tolerances are given)."""
    want = reference(node, inputs, opset)
    outputs = {n: (DTYPES[a.dtype], a.shape) for n, a in want.items()}
    got = run(kernel, view_of(node, inputs, outputs, opset, known), inputs)
    for name, array in zip(node.output, got, strict=True):
        if name:
            np.testing.assert_allclose(array, want[name], rtol=rtol, atol=atol, err_msg=name)
