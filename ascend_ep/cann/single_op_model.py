"""An operator that --singleop describes, as an ONNX model of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.defs
from onnx import helper, numpy_helper

from ascend_ep.errors import AscendError, nearest
from ascend_ep.opdef.registry import Registry

from .ge_builder import Builder
from .ge_operators import GE_OPERATORS, OPSET
from .single_op import OpDesc, TensorDesc

Ranges = dict[str, tuple[int, int | None]]


def operator_model(desc: OpDesc, registry: Registry, where: str) -> tuple[onnx.ModelProto, Ranges]:
    """The model, and the range of each free dimension of its inputs by symbol.

    An operator is looked for among those that `registry` has from the user, the graph engine's, all others
    of `registry`, and ONNX's. Raises AscendError E10501 when nobody knows it, E10027 and E10030 for operands
    and attributes that it doesn't take.
    """
    b = Builder(desc, where)
    domain, results = _build(b, registry, where)
    if len(results) < len(desc.outputs):
        raise _wrong_output(desc, where, len(results), f"the operator has {len(results)} outputs")
    inputs, ranges = [], Ranges()
    weights: list[onnx.TensorProto] = []
    for i, tensor in enumerate(desc.inputs):
        if tensor is not None and tensor.value is not None:
            weights.append(numpy_helper.from_array(tensor.value, f"x{i}"))
        elif tensor is not None:
            inputs.append(_value(f"x{i}", tensor, ranges))
    outputs = []
    for i, tensor in enumerate(desc.outputs):
        b.nodes.append(_output(b, results[i], f"y{i}", tensor))
        dims = [n if n >= 0 else None for n in tensor.shape]
        outputs.append(helper.make_tensor_value_info(f"y{i}", tensor.type.value, dims))
    b.nodes[0].name = desc.name or desc.op
    graph = helper.make_graph(b.nodes, desc.name or desc.op, inputs, outputs, [*b.weights, *weights])
    opsets = [helper.make_opsetid("", OPSET)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=9), ranges


def _build(b: Builder, registry: Registry, where: str) -> tuple[str, list[str]]:
    """The domain of the operator and the names of its results."""
    desc = b.desc
    resolved = registry.resolve("", desc.op, OPSET)
    own = resolved is not None and not resolved.opdef.standard
    from_user = own and not resolved.source.startswith("built-in") if resolved is not None else False
    if desc.op in GE_OPERATORS and not from_user:
        try:
            results = list(GE_OPERATORS[desc.op](b))
        except (TypeError, ValueError, IndexError) as error:
            said = f"{dict(desc.attributes)}"
            raise AscendError(
                "E19014", said, desc.op, f"the attributes don't fit: {error}", where=where
            ) from error
        b.check_taken()
        return "", results
    count = len(desc.outputs)
    if resolved is not None and own:
        domain = resolved.opdef.domain or "ascend_ep"
        first = b.add(desc.op, *b.inputs, outputs=count, domain=domain, **_plain(b))
        return domain, [first, *(f"{first}_{i}" for i in range(1, count))]
    try:
        schema = onnx.defs.get_schema(desc.op, OPSET, "")
    except onnx.defs.SchemaError:
        known = {*GE_OPERATORS, *(s.name for s in onnx.defs.get_all_schemas())}
        near = [f"near it: {', '.join(found)}"] if (found := nearest(desc.op, known)) else []
        raise AscendError("E10501", desc.name or desc.op, desc.op, where=where, details=near) from None
    for name in desc.attributes:
        if name not in schema.attributes:
            have = ", ".join(schema.attributes) or "none"
            raise b.wrong(name, f"the operator has no such attribute; it has {have}.")
    first = b.add(desc.op, *b.inputs, outputs=count, **_plain(b))
    return "", [first, *(f"{first}_{i}" for i in range(1, count))]


def _output(b: Builder, result: str, name: str, tensor: TensorDesc) -> onnx.NodeProto:
    """The node that gives an output; one number has any dimensions of 1, as there."""
    if any(n != 1 for n in tensor.shape):
        return helper.make_node("Identity", [result], [name])
    shape = b.constant(np.array(tensor.shape, np.int64))
    return helper.make_node("Reshape", [result, shape], [name])


def _plain(b: Builder) -> dict[str, Any]:
    """Attributes as ONNX has them: truth values are numbers."""
    return {k: int(v) if isinstance(v, bool) else v for k, v in b.desc.attributes.items()}


def _value(name: str, tensor: TensorDesc, ranges: Ranges) -> onnx.ValueInfoProto:
    dims: list[int | str] = []
    for axis, size in enumerate(tensor.shape):
        if size < 0:
            ranges[f"{name}_d{axis}"] = tensor.ranges[axis]
        dims.append(size if size >= 0 else f"{name}_d{axis}")
    return helper.make_tensor_value_info(name, tensor.type.value, dims)


def _wrong_output(desc: OpDesc, where: str, index: int, reason: str) -> AscendError:
    return AscendError("E10027", "type", "output", index, desc.op, where=where, details=[reason])
