"""Other outputs than the model's (atc's --out_nodes), or of another type (--output_type); inputs of another
type (--input_fp16_nodes)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir
from onnx_ir.passes import common

from ascend_ep.element_types import ELEMENT_TYPES
from ascend_ep.errors import AscendError, nearest
from ascend_ep.graph.facts import Facts


def select_outputs(model: ir.Model, names: Sequence[str]) -> None:
    """Makes these the model's outputs and drops what they don't need.

    Each is "node:index" or the name of a tensor. Raises AscendError E10016 for one that isn't there.
    """
    graph = model.graph
    nodes = {n.name: n for n in graph if n.name}
    values = {v.name: v for v in (*graph.inputs, *(v for n in graph for v in n.outputs)) if v.name}
    chosen: list[ir.Value] = []
    for name in names:
        node_name, _, index = name.rpartition(":")
        node = nodes.get(node_name)
        if node is not None and index.isdecimal() and int(index) < len(node.outputs):
            chosen.append(node.outputs[int(index)])
        elif name in values:
            chosen.append(values[name])
        else:
            shown = node_name or name
            near = [n for n in nearest(shown, {*nodes, *values}) if n != shown]
            details = [f"near it: {', '.join(near)}"] if near else []
            if node is None and shown in values:
                details = [f"it is a tensor's name, which takes no index: --out_nodes={shown}"]
            raise AscendError("E10016", shown, "out_nodes", details=details)
    graph.outputs[:] = list(dict.fromkeys(chosen))
    common.RemoveUnusedNodesPass()(model)


#: atc's names of element types.
_TYPES = {row.atc: ir.DataType(n) for n, row in ELEMENT_TYPES.items() if row.atc}
BEFORE_CAST = "/before_cast"  # ends the name of what an output is cast from


def cast_outputs(model: ir.Model, facts: Facts, types: Mapping[str, str]) -> None:
    """Makes outputs be of other element types. Keys are "node:index" or output names, "" for every output.

    An output keeps its name. Raises AscendError E10016 for a key that is no output, E10001 for a type.
    """
    graph = model.graph
    keys = {_key(v): v for v in graph.outputs} | {str(v.name): v for v in graph.outputs}
    for key, name in types.items():
        if name not in _TYPES:
            raise AscendError("E10001", name, "--output_type", f"It must be one of {', '.join(_TYPES)}.")
        if key and key not in keys:
            raise AscendError("E10016", key.rpartition(":")[0] or key, "output_type")
        for value in dict.fromkeys([keys[key]] if key else list(graph.outputs)):
            if facts[value].dtype and facts[value].dtype != _TYPES[name]:
                _cast(graph, value, _TYPES[name])


def _key(value: ir.Value) -> str:
    producer = value.producer()
    return str(value.name) if producer is None else f"{producer.name}:{value.index()}"


def _cast(graph: ir.Graph, value: ir.Value, dtype: ir.DataType) -> None:
    name = value.name
    value.name = f"{name}{BEFORE_CAST}"
    made = ir.Value(name=name, shape=value.shape, type=ir.TensorType(dtype))
    graph.append(
        ir.Node("", "Cast", [value], [ir.AttrInt64("to", dtype.value)], outputs=[made], name=f"{name}/cast")
    )
    graph.outputs[:] = [made if v is value else v for v in graph.outputs]


def read_half_inputs(model: ir.Model, names: Sequence[str]) -> None:
    """Makes inputs of the model be float16. Raises AscendError E10016 for a name that is no input's, E10001
    for an input that holds no floats."""
    graph = model.graph
    inputs = {str(v.name): v for v in graph.inputs}
    for name in names:
        if name not in inputs:
            raise AscendError("E10016", name, "input_fp16_nodes")
        value = inputs[name]
        if value.dtype == ir.DataType.FLOAT16:
            continue
        if value.dtype not in (ir.DataType.FLOAT, ir.DataType.BFLOAT16, ir.DataType.DOUBLE):
            reason = f"Input {name} is of {value.dtype.name if value.dtype else 'no type'}, not of floats."
            raise AscendError("E10001", ";".join(names), "--input_fp16_nodes", reason)
        wide = ir.Value(name=f"{name}/before_cast", shape=value.shape, type=value.type)
        value.replace_all_uses_with(wide, replace_graph_outputs=True)
        cast = ir.Node(
            "", "Cast", [value], [ir.AttrInt64("to", int(value.dtype))], outputs=[wide], name=f"{name}/cast"
        )
        value.type = ir.TensorType(ir.DataType.FLOAT16)
        first = next(iter(graph), None)
        if first is None:
            graph.append(cast)
        else:
            graph.insert_before(first, cast)
