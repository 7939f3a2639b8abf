"""Symbolic shape inference over a whole model: one pass in topological order, a rule per operator."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import Any, Protocol

import onnx_ir as ir

from ascend_ep.errors import AscendError
from ascend_ep.graph.control_flow import OPERATORS, infer_control_flow
from ascend_ep.graph.declared import (
    Declared,
    contradicts,
    declare_backwards,
    declare_inputs,
    declared_fact,
    drop_shape,
    given_inputs,
)
from ascend_ep.graph.facts import UNKNOWN, Fact, Facts
from ascend_ep.graph.naming import fresh_symbol, label
from ascend_ep.graph.setbacks import in_words, is_ours
from ascend_ep.graph.shape_constraints import Constraints
from ascend_ep.graph.shapes import (
    Call,
    UnknownShape,
    VaryingRank,
    check_signature,
    find_schema,
    infer_by_onnx,
    infer_defined,
    output_types,
    rule_of,
)
from ascend_ep.graph.sizes_from_data import declared_sizes, may_believe
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.dims import Dim, DimExpr, DimTooComplex, symbol


class Registry(Protocol):
    """What the graph side asks of `opdef.registry`."""

    def resolve(self, domain: str, op_type: str, version: int) -> Any:
        """A `Resolved` (opdef, source), or None."""

    def beside(self, functions: Collection[tuple[str, str]]) -> Registry:
        """The definitions in force for a model with these functions, as (domain, type)."""


#: More elements than this are in no address space.
MOST_ELEMENTS = 2**46


def definition(registry: Registry, domain: str, op_type: str, version: int) -> OpDef | None:
    """The definition that a node's operator has outside ONNX; None for ONNX's operators.

    A built-in definition of the same name as an operator that ONNX knows at this version doesn't replace it.
    """
    resolved = registry.resolve(domain, op_type, version)
    if resolved is None or resolved.opdef.standard:
        return None
    if resolved.source.startswith("built-in") and find_schema(domain, op_type, version) is not None:
        return None
    opdef: OpDef = resolved.opdef
    return opdef


#: Inferences in which what the inputs must satisfy is looked for.
ROUNDS = 6


def infer_facts(
    model: ir.Model,
    registry: Registry | None = None,
    given: Mapping[str, Fact] | None = None,
    constraints: Constraints | None = None,
    believe: bool = False,
) -> Facts:
    """The facts of every value of the main graph (and of the branches of If).

    `given`: what is known of every input, by name, instead of what the model declares of them.
    `constraints`: those of an earlier inference over the same model, whose nodes may be others now.
    `believe`: numbers declared of sizes that come with the data count (graph/sizes_from_data.py). Not for
    those who leave out nodes by what is inferred: the nodes compare the numbers with the data.
    What the model declares of a value and its node contradicts doesn't count (`dropped_shapes`).
    AscendError E19014, naming the node, where a shape is impossible or a type is another than declared.
    """
    declare_backwards(model.graph)
    if given is not None:
        return _infer(model, registry, given_inputs(model, given))
    constraints = constraints or Constraints()
    for left in reversed(range(ROUNDS)):
        facts = declare_inputs(model, constraints)
        order = symbols_in_order(model, facts)
        constraints.recording = left > 0
        _infer(model, registry, facts, believe)
        _see_outputs(model, facts)
        constraints.recording = False
        if left == 0 or not _learned(constraints, order):
            break
    return facts


def infer_believing(
    model: ir.Model, registry: Registry | None = None, constraints: Constraints | None = None
) -> Facts:
    """As `infer_facts` with `believe`, as far as the nodes can work with the declared numbers."""
    if may_believe(model):
        try:
            return infer_facts(model, registry, constraints=constraints, believe=True)
        except AscendError:
            constraints = None  # it has learnt from them
    return infer_facts(model, registry, constraints=constraints)


def works_with(
    model: ir.Model, registry: Registry | None, facts: Facts, node: ir.Node, results: Sequence[Fact]
) -> bool:
    """Whether the nodes after `node` could work if these were its outputs' facts; none of it is kept."""
    trial = _Inference(model, registry, facts.copy(), trying=True)
    for value, fact in zip(node.outputs, results, strict=True):
        trial.facts[value] = fact
    nodes = iter(model.graph)
    for before in nodes:
        if before is node:
            break
    try:
        for after in nodes:
            trial.infer_node(after)
    except AscendError as error:
        if error.code == "E19014":
            return False
        raise
    return True


def _learned(constraints: Constraints, order: Mapping[str, int]) -> bool:
    """`constraints.learn`; one that raises what it shouldn't has learnt nothing and concludes no more."""
    try:
        return constraints.learn(order)
    except Exception as error:
        if not is_ours(error):
            raise
        constraints.give_up(in_words(error))
        return True


def _infer(model: ir.Model, registry: Registry | None, facts: Facts, believe: bool = False) -> Facts:
    for value in model.graph.inputs:
        _check_size(value, facts[value], f"{value.name} (input)")
    _Inference(model, registry, facts, believe=believe).infer_graph(model.graph)
    return facts


def _see_outputs(model: ir.Model, facts: Facts) -> None:
    """An output that the model declares to have an input's axis is likely to have it, whatever is broadcast
    to it. Where it hasn't, the plan made without names runs."""
    for value in model.graph.outputs:
        inferred, declared, node = facts[value].dims, declared_fact(value).dims, value.producer()
        if node is not None and inferred and declared and len(inferred) == len(declared):
            for a, b in zip(inferred, facts.constraints.canonical(declared), strict=True):
                if not isinstance(b, int):
                    facts.constraints.see_declared(a, b, node)


def symbols_in_order(model: ir.Model, facts: Facts) -> dict[str, int]:
    """The symbols that are dims of inputs by themselves, numbered as these declare them."""
    dims = (d for value in model.graph.inputs for d in facts.boundary_dims(value) or ())
    alone = dict.fromkeys(str(d) for d in dims if isinstance(d, DimExpr) and d == symbol(str(d)))
    return {name: i for i, name in enumerate(alone)}


class _Inference:
    """`trying`: what the model declares and its nodes contradict stays declared."""

    def __init__(
        self,
        model: ir.Model,
        registry: Registry | None,
        facts: Facts,
        trying: bool = False,
        believe: bool = False,
    ) -> None:
        self.trying = trying
        self.opsets = {("" if d == "ai.onnx" else d): v for d, v in model.opset_imports.items()}
        self.registry = registry
        self.facts = facts
        self.model = model
        self._too_complex: set[ir.Node] = set()
        self._believes = believe

    def infer_graph(self, graph: ir.Graph) -> None:
        for value in graph.initializers.values():
            tensor = value.const_value
            if tensor is not None:
                self.facts[value] = Fact(int(tensor.dtype), tuple(tensor.shape.numpy()), tensor=tensor)
        for node in graph:
            self.infer_node(node)

    def infer_node(self, node: ir.Node) -> None:
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = node.version or self.opsets.get(domain, 1)
        inputs = [None if v is None else self.facts[v] for v in node.inputs]
        call = Call(node, version, inputs, self.facts.constraints)
        try:
            self._infer_call(call, domain)
        except Exception as error:
            if not is_ours(error):
                raise
            self.facts.setbacks[node] = in_words(error)
            self._take_from_onnx(call)

    def _take_from_onnx(self, call: Call) -> None:
        """The outputs' facts where nothing here can say them: as ONNX infers them, or unknown."""
        results: list[Fact] = []
        with suppress(Exception):
            results = infer_by_onnx(call)
        results += [Fact() for _ in range(call.n_outputs - len(results))]
        for value, fact in zip(call.node.outputs, results, strict=False):
            fact.dtype = fact.dtype or declared_fact(value).dtype
            self.facts[value] = fact

    def _infer_call(self, call: Call, domain: str) -> None:
        node, version = call.node, call.version
        if domain == "" and node.op_type in OPERATORS:
            results = infer_control_flow(node, version, self.facts, self._infer_body)
        else:
            results = self._apply(call, domain)
        for value, fact in zip(node.outputs, results, strict=True):
            self.facts[value] = self._settle(node, value, fact)
            _check_size(value, self.facts[value], f"{node.name or '(unnamed)'} ({node.op_type})")

    def _apply(self, call: Call, domain: str) -> list[Fact]:
        """The outputs' facts by definition, rule or ONNX; dtypes completed from the schema."""
        node, varies = call.node, any(f is not None and f.varies for f in call.inputs)
        registry = self.registry
        opdef = None if registry is None else definition(registry, domain, node.op_type, call.version)
        if opdef is None and (schema := find_schema(domain, node.op_type, call.version)) is not None:
            check_signature(call, schema)
        try:
            rule = rule_of(domain, node.op_type)
            wordless = domain == "com.microsoft" and rule is not None  # no definition can say its shapes
            if opdef is not None and (opdef.shape or not wordless):
                results = infer_defined(call, opdef)
            elif rule is not None:
                outcome = rule(call)
                results = [outcome] if isinstance(outcome, Fact) else list(outcome)
            elif (domain, node.op_type, node.overload) in self.model.functions:
                results = []
            else:
                results = infer_by_onnx(call)
        except (UnknownShape, DimTooComplex, ZeroDivisionError, OverflowError) as reason:
            results = []
            varies = varies or isinstance(reason, VaryingRank)
            if not isinstance(reason, UnknownShape):
                self._too_complex.add(node)
        results += [Fact() for _ in range(call.n_outputs - len(results))]
        results = results[: call.n_outputs]
        for index, dtype in enumerate(output_types(call)):
            results[index].dtype = results[index].dtype or dtype
        for fact in results:
            fact.varies = varies and fact.dims is None
        return results

    def _infer_body(self, body: ir.Graph, given: Sequence[Fact]) -> list[Fact]:
        """The outputs of a control-flow body whose inputs have these facts."""
        for value, fact in zip(body.inputs, given, strict=False):
            self.facts[value] = fact
        constraints, believes = self.facts.constraints, self._believes
        recording, constraints.recording = constraints.recording, False  # it may never run
        self._believes = False  # what stays a body runs on the host
        try:
            self.infer_graph(body)
        except AscendError:
            if not self.trying:
                raise
            return [Fact() for _ in body.outputs]
        finally:
            constraints.recording, self._believes = recording, believes
        return [self.facts[v] for v in body.outputs]

    def _settle(self, node: ir.Node, value: ir.Value, fact: Fact) -> Fact:
        """`fact` joined with what the model declares of `value`: its rank, where the node doesn't say it. A
        size that data decides is whatever it comes to, unless the declared one is believed; one that can't be
        written down is as declared."""
        declared = declared_fact(value)
        if declared is UNKNOWN:
            return fact
        if declared.dtype and fact.dtype and declared.dtype != fact.dtype:
            _contradict_type(node, value, ir.DataType(declared.dtype).name, ir.DataType(fact.dtype).name)
        fact.dtype = fact.dtype or declared.dtype
        if declared.dims is None or fact.varies:
            return fact
        believed = declared_sizes(node, value, fact, declared, self.facts) if self._believes else None
        if believed is not None and not contradicts(fact, declared):
            self.facts.constraints.by_declaration = True
            return Fact(fact.dtype, believed)
        if fact.dims is None:
            follow = node in self._too_complex
            dims = (
                d if follow and d != Declared.NOTHING else fresh_symbol(value, i)
                for i, d in enumerate(declared.dims)
            )
            return Fact(fact.dtype, list(dims))
        if contradicts(fact, declared):
            if self.trying:
                return fact
            what = f"'{value.name}' (node [{label(node)}])"
            drop_shape(self.model, value, f"{_text(declared.dims)} of {what}, which is {_text(fact.dims)}")
            return fact
        return fact


def _text(dims: Sequence[Dim]) -> str:
    return "[" + ",".join("?" if d == Declared.NOTHING else str(d) for d in dims) + "]"


def _check_size(value: ir.Value, fact: Fact, what: str) -> None:
    """AscendError E19014 for a tensor that no machine can address."""
    sizes = [d for d in fact.dims or () if isinstance(d, int)]
    if prod(d for d in sizes if d > 0) > MOST_ELEMENTS:  # negative ones may be of a branch never taken
        reason = f"a tensor has at most 2^{MOST_ELEMENTS.bit_length() - 1} elements"
        raise AscendError("E19014", f"{value.name}: {_text(fact.dims or ())}", what, reason)


def _contradict_type(node: ir.Node, value: ir.Value, declared: str, inferred: str) -> None:
    raise AscendError(
        "E19014",
        f"{value.name}: {declared}",
        f"{node.name or '(unnamed)'} ({node.op_type})",
        f"the model declares type {declared} for output {value.name!r}, but it is {inferred}",
        where=f"node {node.name or node.op_type}",
        fix="Remove the stale value_info, or correct the declared input types.",
    )
