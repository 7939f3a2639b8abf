"""A group of nodes as a model of its own, and that model as a bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
import onnx_ir as ir

from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.precision.precision import EXACT
from ascend_ep.graph.external_data import MemoryReader, tensor_bytes
from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.opdef.dim_text import dim_param
from ascend_ep.opdef.registry import Registry
from ascend_ep.provider.options import precision_of


def group_model(
    whole: onnx.ModelProto,
    nodes: Sequence[int],
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    facts: Facts,
) -> onnx.ModelProto:
    """The nodes at these positions of `whole`, as a model with these inputs and outputs.

    Initializers keep referring to the memory they are in.
    """
    model = onnx.ModelProto()
    model.ir_version = whole.ir_version
    model.opset_import.extend(whole.opset_import)
    graph = model.graph
    graph.name = whole.graph.name or "group"
    graph.node.extend(whole.graph.node[i] for i in nodes)
    used = {name for node in graph.node for name in node.input}
    graph.initializer.extend(t for t in whole.graph.initializer if t.name in used)
    graph.input.extend(
        _value_info(v.name or "", Fact(facts[v].dtype, facts.boundary_dims(v))) for v in inputs
    )
    graph.output.extend(value_info(v, facts) for v in outputs)
    return model


def value_info(value: ir.Value, facts: Facts) -> onnx.ValueInfoProto:
    """What is known of a value, as a model declares it."""
    return _value_info(value.name or "", facts[value])


def _value_info(name: str, fact: Fact) -> onnx.ValueInfoProto:
    if not fact.dtype:
        return onnx.ValueInfoProto(name=name)
    dims = None if fact.dims is None else [d if isinstance(d, int) else dim_param(d) for d in fact.dims]
    return onnx.helper.make_tensor_value_info(name, fact.dtype, dims)


def image_bytes(model: onnx.ModelProto, options: Mapping[str, str]) -> int:
    """About how many bytes the bundle of a group takes; 0 where its weights change their type."""
    if precision_of(options) not in EXACT:
        return 0
    sizes = [tensor_bytes(ir.DataType(t.data_type), tuple(t.dims)) for t in model.graph.initializer]
    return sum(sizes)


def compile_model(
    model: onnx.ModelProto,
    registry: Registry,
    options: Mapping[str, str],
    memory: MemoryReader,
) -> tuple[Conversion | None, dict[str, str]]:
    """The group converted; or None and, by first output, the nodes that don't run natively here and why."""
    wanted = ConvertOptions(
        registry=registry,
        precision=precision_of(options),
        sample_seed=None,
        self_check=False,
        expect_native=True,
        fallback=False,
        memory=memory,
    )
    conversion = convert(model, wanted)
    left = {row.output: row.reason for row in conversion.partition_table if row.target != "AscendEP"}
    if left or len(conversion.plan.partitions) != 1:
        return None, left
    return conversion, {}
