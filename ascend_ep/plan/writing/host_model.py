"""A host partition as an ONNX model of its own, with typed inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.partition import used_values
from ascend_ep.opdef.dim_text import dim_param
from ascend_ep.opdef.dims import Dim

#: The newest IR version that onnxruntime 1.25 reads.
IR_VERSION = 10


def host_model(
    model: ir.Model,
    name: str,
    nodes: Sequence[ir.Node],
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    facts: Facts,
) -> bytes:
    """The serialized model of these nodes; initializers they use come along."""
    proto = onnx.ModelProto(ir_version=IR_VERSION)
    proto.graph.name = name
    for domain, version in model.opset_imports.items():
        proto.opset_import.add(domain=domain, version=version)
    proto.graph.node.extend(ir.to_proto(node) for node in nodes)
    proto.graph.input.extend(value_info(v, facts) for v in inputs)
    proto.graph.output.extend(value_info(v, facts) for v in outputs)
    proto.graph.initializer.extend(initializer(v) for v in used_initializers(nodes))
    proto.functions.extend(ir.to_proto(f) for f in model.functions.values())
    body: bytes = proto.SerializeToString()
    return body


def used_initializers(nodes: Sequence[ir.Node]) -> list[ir.Value]:
    """The initializers of the graph that these nodes, or graphs inside them, read."""
    found = {v: None for node in nodes for v in used_values(node) if v.is_initializer()}
    return list(found)


def initializer(value: ir.Value) -> onnx.TensorProto:
    """An initializer with its data inside."""
    assert value.const_value is not None
    source = value.const_value
    proto = onnx.TensorProto(name=value.name, data_type=int(source.dtype), dims=source.shape.numpy())
    if source.dtype == ir.DataType.STRING:
        proto.string_data.extend(bytes(s) for s in source.string_data())  # type: ignore[attr-defined]
    else:
        proto.raw_data = source.tobytes()
    return proto


def value_info(value: ir.Value, facts: Facts) -> onnx.ValueInfoProto:
    """A graph input or output with the type known of it. What is no tensor keeps its declared type."""
    fact = facts[value]
    if not fact.dtype:
        if value.type is None:
            return onnx.ValueInfoProto(name=value.name)
        return ir.to_proto(value)
    info = onnx.ValueInfoProto(name=value.name)
    info.type.tensor_type.elem_type = fact.dtype
    if fact.dims is not None:
        info.type.tensor_type.shape.dim.extend(_dimension(d) for d in fact.dims)
    return info


def _dimension(dim: Dim) -> onnx.TensorShapeProto.Dimension:
    if isinstance(dim, int):
        return onnx.TensorShapeProto.Dimension(dim_value=dim)
    return onnx.TensorShapeProto.Dimension(dim_param=dim_param(dim))
