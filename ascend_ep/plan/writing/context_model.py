"""m_ctx.onnx: an ONNX model of EPContext nodes through which stock onnxruntime runs a bundle."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import onnx
import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.plan.plan import Edge, HostPartition, NativePartition, Plan
from ascend_ep.runtime.binding import lib, text_of

from .host_model import IR_VERSION, initializer, value_info

SOURCE = "AscendEP"
CONTEXT_DOMAIN = "com.microsoft"


def context_model(model: ir.Model, facts: Facts, plan: Plan, bundle_name: str) -> bytes:
    """A native partition becomes one EPContext node, with the type of every output; host nodes stay as they
    are, with their initializers. `bundle_name` is the bundle's path relative to the model that is returned.
    """
    proto = onnx.ModelProto(ir_version=IR_VERSION, producer_name="ascend-ep")
    graph = proto.graph
    graph.name = model.graph.name or "context"
    opsets: dict[str, int] = {CONTEXT_DOMAIN: 1}
    for part in plan.partitions:
        if isinstance(part, HostPartition):
            host = onnx.ModelProto.FromString(part.model)
            graph.node.extend(host.graph.node)
            graph.initializer.extend(host.graph.initializer)
            opsets |= {o.domain: o.version for o in host.opset_import}
            known = {f.name for f in proto.functions}
            proto.functions.extend(f for f in host.functions if f.name not in known)
        elif not all(edge.name in _loose(model) for edge, _ in part.outputs):
            graph.node.append(_context_node(part, bundle_name))
    opsets.setdefault("", model.opset_imports.get("", 17))
    proto.opset_import.extend(onnx.helper.make_opsetid(d, v) for d, v in sorted(opsets.items()))
    graph.input.extend(_boundary_info(v, facts) for v in model.graph.inputs)
    graph.output.extend(_boundary_info(v, facts) for v in model.graph.outputs)
    graph.value_info.extend(_edge_infos(plan.edges))
    constants = (v for v in model.graph.outputs if v.is_initializer())
    graph.initializer.extend(initializer(v) for v in constants)
    _keep_first(graph.initializer)
    for prop, text in model.metadata_props.items():
        proto.metadata_props.add(key=prop, value=text)
    body: bytes = proto.SerializeToString()
    return body


def _loose(model: ir.Model) -> set[str | None]:
    """Outputs that are inputs or constants themselves: the graph says so without any node."""
    return {v.name for v in model.graph.outputs if v.producer() is None}


def _context_node(part: NativePartition, bundle_name: str) -> onnx.NodeProto:
    return onnx.helper.make_node(
        "EPContext",
        [edge.name for edge, _ in part.inputs],
        [edge.name for edge, _ in part.outputs],
        name=f"AscendEP_{part.name}",
        domain=CONTEXT_DOMAIN,
        main_context=1,
        embed_mode=0,
        ep_cache_context=os.fsencode(bundle_name),  # which may be no text
        ep_sdk_version=text_of(lib.asc_version()),
        source=SOURCE,
        partition_name=part.name,
    )


def _boundary_info(value: ir.Value, facts: Facts) -> onnx.ValueInfoProto:
    """An input or output as the source model declares it; its inferred type when it declares no shape."""
    if value.type is not None and value.shape is not None:
        return ir.to_proto(value)
    return value_info(value, facts)


def _edge_infos(edges: Iterable[Edge]) -> Iterable[onnx.ValueInfoProto]:
    for edge in edges:
        if not edge.is_input and not edge.is_output and edge.dtype:
            dims = [d if isinstance(d, int) else str(d) for d in edge.dims]
            yield onnx.helper.make_tensor_value_info(edge.name, edge.dtype, dims)


def _keep_first(tensors: Any) -> None:
    """Drops initializers whose name came before: two host partitions may use the same one."""
    kept: dict[str, onnx.TensorProto] = {}
    for tensor in tensors:
        kept.setdefault(tensor.name, tensor)
    first = list(kept.values())
    del tensors[:]
    tensors.extend(first)
