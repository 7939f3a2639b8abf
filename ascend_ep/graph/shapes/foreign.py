"""Shapes of operators without a rule here: by the operator's definition, else by ONNX's inference."""

from __future__ import annotations

import onnx
import onnx_ir as ir

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, UnknownShape
from ascend_ep.graph.shapes.schema_types import find_schema
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.dims import DimExpr
from ascend_ep.opdef.output_types import infer

_MAX_CONST = 4096


def infer_defined(call: Call, opdef: OpDef) -> list[Fact]:
    """The facts of the outputs as the operator's definition gives them. AscendError E41011, E41012."""
    types = [None if f is None else (f.dtype, f.dims) for f in call.inputs]
    if any(t is not None and not t[0] for t in types):
        raise UnknownShape
    values = {
        i: f.shape_value for i, f in enumerate(call.inputs) if f is not None and f.shape_value is not None
    }
    attributes = {name: call.attr(name) for name in call.node.attributes}
    where = f"node {call.node.name or call.node.op_type}"
    found = infer(opdef, types, {n: v for n, v in attributes.items() if v is not None}, values, where)
    return [Fact(dtype, dims) for dtype, dims in found[: call.n_outputs]]


def infer_by_onnx(call: Call) -> list[Fact]:
    """The facts of the outputs as ONNX's own inference gives them; UnknownShape when it can't."""
    domain = "" if call.node.domain == "ai.onnx" else call.node.domain
    schema = find_schema(domain, call.node.op_type, call.version)
    if schema is None:
        raise UnknownShape
    return _onnx_inference(call, schema)


def _onnx_inference(call: Call, schema: onnx.defs.OpSchema) -> list[Fact]:
    """onnx.shape_inference of this one node; a symbol not among the inputs' becomes a fresh one. Outputs that
    are sequences or optionals get their type."""
    proto = ir.to_proto(call.node)
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for value, fact in zip(call.node.inputs, call.inputs, strict=True):
        if value is None or fact is None or not value.name:
            continue
        if not fact.dtype:
            if value.type is not None and not isinstance(value.type, ir.TensorType):
                types[value.name] = ir.to_proto(value).type
            continue
        names = None if fact.dims is None else [d if isinstance(d, int) else str(d) for d in fact.dims]
        types[value.name] = onnx.helper.make_tensor_type_proto(fact.dtype, names)
        if fact.is_const and fact.const is not None and fact.const.size <= _MAX_CONST and fact.dtype != 8:
            data[value.name] = onnx.numpy_helper.from_array(fact.const, value.name)
    try:
        inferred = onnx.shape_inference.infer_node_outputs(
            schema, proto, types, data, opset_imports=[onnx.helper.make_opsetid(schema.domain, call.version)]
        )
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError, TypeError, KeyError):
        raise UnknownShape from None
    facts = []
    for index, output in enumerate(call.node.outputs):
        found = inferred.get(output.name or "")
        if found is None or not found.HasField("tensor_type"):
            facts.append(Fact())
            if found is not None and output.type is None:
                _declare(output, found)
            continue
        tensor = found.tensor_type
        if not tensor.HasField("shape"):
            facts.append(Fact(tensor.elem_type))
            continue
        dims = [_dim(call, d, index, axis) for axis, d in enumerate(tensor.shape.dim)]
        facts.append(Fact(tensor.elem_type, dims))
    return facts


def _declare(value: ir.Value, found: onnx.TypeProto) -> None:
    """Keeps the type of what is no tensor, which no Fact says; of its elements' shape the rank and the fixed
    dims. `onnx_ir` has no word for a map."""
    if is_foreign(found):
        return
    value.type = ir.serde.deserialize_type_proto_for_type(found)
    shape = ir.serde.deserialize_type_proto_for_shape(found)
    if shape is not None:
        value.shape = ir.Shape([d if isinstance(d, int) else None for d in shape])


def _dim(call: Call, dim: onnx.TensorShapeProto.Dimension, output: int, axis: int) -> int | DimExpr:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    for fact in call.inputs:
        for ours in (fact.dims or ()) if fact is not None else ():
            if isinstance(ours, DimExpr) and str(ours) == dim.dim_param:
                return ours
    return call.fresh(output, axis)


def is_foreign(declared: onnx.TypeProto) -> bool:
    """Whether this is, or holds, what is no dense tensor, sequence or optional."""
    kind = declared.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return is_foreign(getattr(declared, kind).elem_type)
    return kind not in (None, "tensor_type")
