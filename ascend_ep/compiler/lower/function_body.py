"""Operators that ONNX itself defines by a function body and that nothing else implements: the body's nodes,
one after the other, into the same plan.

The body is inferred and simplified with what is known of the node's inputs. It runs natively whole or not at
all: a node of it that can't be native makes the operator one that can't.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import onnx
import onnx.defs
import onnx.inliner
import onnx_ir as ir

from ascend_ep.compiler.lower.arguments import axis_of, needed
from ascend_ep.compiler.lower.arguments import operand as operand_at
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Unsupported, lower_node, lowers
from ascend_ep.compiler.semantics import Semantics, operand
from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Fact
from ascend_ep.graph.passes.pipeline import simplify
from ascend_ep.opdef.registry import Registry

#: Inputs that a body makes one row of, though the operator broadcasts them axis by axis.
FLATTENED = {"LayerNormalization": (1, 2)}
BODY_DOMAIN = "ascend_ep.body"  # no operator is looked up here: the call is inlined


@lowers("function_body")
def lower_function_body(node: NodeView, b: PlanBuilder) -> None:
    """A node whose operator's schema has a function body for the opset in force."""
    _refuse_flattened(node)
    lower_body(node, b, _body_model(node, {o.name: o for o in node.inputs if o is not None}))


def lower_body(node: NodeView, b: PlanBuilder, model: ir.Model) -> None:
    """In place of the node those of a model whose inputs and outputs are named as its operands."""
    given = {o.name: o for o in node.inputs if o is not None}
    wanted = {o.name: o for o in node.outputs if o is not None}
    try:
        facts = simplify(model, _definitions(), {name: _fact(o) for name, o in given.items()})
    except AscendError as error:  # a body may say less than the operator takes, as of a scale with many axes
        raise Unsupported(f"its function body: {error.text}") from None
    semantics = Semantics(model, _definitions())
    known = {**wanted, **given}
    prefix = next(iter(wanted))
    made: set[str] = set()

    def around(inner: Operand | None) -> Operand | None:
        """The node's own operand of that name, whose dims the plan knows; else a name that no other has."""
        if inner is None:
            return None
        return known.get(inner.name) or replace(inner, name=f"{prefix}/{inner.name}")

    for inner in model.graph:
        if all(facts[v].is_const for v in inner.outputs):
            continue
        with _named(inner):
            function, opdef = semantics.lowering(inner)
            view = semantics.view(inner, facts, opdef)
        name = f"{node.name}/{inner.op_type}" if node.name else ""
        inputs, outputs = ([around(o) for o in operands] for operands in (view.inputs, view.outputs))
        with _named(inner):
            lower_node(replace(view, inputs=inputs, outputs=outputs, name=name), function, b)
        made |= {o.name for o in outputs if o is not None}
    for value in model.graph.outputs:  # constants, and inputs handed on
        target = wanted.get(value.name or "")
        if target is not None and target.name not in made:
            b.bind(target, b.ref(given.get(target.name) or operand(value, facts[value])))


def _refuse_flattened(node: NodeView) -> None:
    """Raises Unsupported where only the sizes of a run say what the operator makes of the one row."""
    for index in FLATTENED.get(node.op_type, ()):
        source, given = needed(node.inputs, 0), operand_at(node.inputs, index)
        row = source.dims[axis_of(node, source.rank, -1) :]
        if given is None or (given.rank == len(row) == 1) or given.dims == row:
            continue
        if not all(isinstance(d, int) for d in (*given.dims, *row)):
            raise Unsupported(f"whether [{given.name}] has axes of 1 is known only at run time")


@contextmanager
def _named(inner: ir.Node) -> Iterator[None]:
    """Reasons that come from a node of the body say so."""
    try:
        yield
    except Unsupported as reason:
        raise Unsupported(f"{inner.op_type} in its function body: {reason}") from None


@cache
def _definitions() -> Registry:
    """A body means ONNX's operators, whatever the user defines."""
    return Registry()


def _fact(o: Operand) -> Fact:
    elements = o.const
    if elements is None:
        return Fact(o.dtype, o.dims, o.shape_value)
    return Fact(o.dtype, o.dims, tensor=ir.Tensor(elements, dtype=ir.DataType(o.dtype), name=o.name))


def _body_model(node: NodeView, given: Mapping[str, Operand]) -> ir.Model:
    """A model whose nodes are those of the body; its inputs and outputs are named as the node's operands."""
    call = onnx.helper.make_node(
        node.op_type,
        [o.name if o is not None else "" for o in node.inputs],
        [o.name if o is not None else "" for o in node.outputs],
        domain=node.domain,
        **node.attributes,
    )
    schema: Any = onnx.defs.get_schema(node.op_type, node.version, node.domain)
    for name, attribute in schema.attributes.items():
        if name not in node.attributes and attribute.default_value.type != onnx.AttributeProto.UNDEFINED:
            call.attribute.append(attribute.default_value)
    function = _function(schema, node, call)
    call.domain = function.domain = BODY_DOMAIN
    inputs = [onnx.helper.make_tensor_value_info(n, o.dtype, None) for n, o in given.items()]
    outputs = [onnx.helper.make_empty_tensor_value_info(n) for n in call.output if n]
    graph = onnx.helper.make_graph([call], "body", inputs, outputs)
    opsets = [*function.opset_import, onnx.helper.make_opsetid(BODY_DOMAIN, 1)]
    proto = onnx.helper.make_model(graph, functions=[function], opset_imports=opsets)
    return ir.from_proto(onnx.inliner.inline_local_functions(proto))


def _function(schema: Any, node: NodeView, call: onnx.NodeProto) -> onnx.FunctionProto:
    """The body written for the newest opset that isn't newer than the one in force, else for the oldest."""
    fixed, built = schema.function_opset_versions, schema.context_dependent_function_opset_versions
    if fixed:
        text = schema.get_function_with_opset_version(_chosen(fixed, node.version))
    else:
        types = [b"" if o is None else _type(o).SerializeToString() for o in node.inputs]
        text = schema.get_context_dependent_function_with_opset_version(
            _chosen(built, node.version), call.SerializeToString(), types
        )
    if not text:
        raise Unsupported("ONNX gives it no function body for these types")
    body: onnx.FunctionProto = onnx.FunctionProto.FromString(text)
    return body


def _chosen(versions: Sequence[int], version: int) -> int:
    return max((v for v in versions if v <= version), default=min(versions))


def _type(o: Operand) -> onnx.TypeProto:
    dims = [d if isinstance(d, int) else str(d) for d in o.dims]
    return onnx.helper.make_tensor_type_proto(o.dtype, dims)
