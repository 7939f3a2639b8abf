"""From the partitions of a graph to a plan: edges, lowered native partitions, host models."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import onnx_ir as ir

from ascend_ep.compiler.custom_ops.native_op import FormulaCode
from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.ledger import Ledger, Outcome
from ascend_ep.graph.naming import label
from ascend_ep.graph.partition import Partition
from ascend_ep.graph.setbacks import of_node, optional, step
from ascend_ep.opdef.constraints import Constraint, OrOne
from ascend_ep.opdef.dims import Dim, DimExpr, symbol, symbols
from ascend_ep.plan.dump import OFF, Dump
from ascend_ep.plan.plan import MAX_RANK, Edge, HostPartition, NativePartition, Plan, Ref, SymbolRange
from ascend_ep.plan.value_uses import needed_symbols
from ascend_ep.plan.writing.host_model import host_model

from .claims import Claims
from .lowering import Lowering, PlanBuilder, Unsupported, lower_node
from .pipeline import PARTITION, LoweredPartition, run_stage
from .semantics import Semantics, operand


class Assembly:
    """Builds the plan of a partitioned model."""

    def __init__(
        self,
        model: ir.Model,
        facts: Facts,
        semantics: Semantics,
        claims: Claims,
        code: FormulaCode,
        fallback: bool = True,
        ledger: Ledger | None = None,
        dump: Dump = OFF,
    ) -> None:
        """`fallback`: keep what is interpreted beside what calls compiled code. `ledger`: its switches and
        budget decide on fusions; the outcomes are in `fusions`."""
        self.plan = Plan()
        self._model = model
        self._facts = facts
        self._semantics = semantics
        self._claims = claims
        self._inputs = {v: self._edge(v, is_input=True) for v in model.graph.inputs}
        self._outputs = {v: self._edge(v, is_output=True) for v in model.graph.outputs}
        self._code = code
        self._fallback = fallback
        self._ledger = ledger or Ledger()
        self._dump = dump
        self.fusions: list[Outcome] = []
        self._inner: dict[ir.Value, Edge] = {}
        self._sources = self._symbol_sources()

    def build(self, parts: Sequence[Partition]) -> Plan:
        """The plan. Partitions are named p0, p1, ... in execution order."""
        parts = self._with_boundary(parts)
        natives = {}
        for i, part in enumerate(parts):
            if part.kind == "native":
                with step(*map(of_node, part.nodes)):
                    natives[i] = self._native(f"p{i}", part)
        for i, part in enumerate(parts):
            self.plan.partitions.append(natives[i] if i in natives else self._host(f"p{i}", part))
        self.plan.edges[len(self._inputs) + len(self._outputs) :] = self._inner.values()
        self._name_symbols()
        return self.plan

    # --- edges --------------------------------------------------------------------------------

    def _edge(self, value: ir.Value, is_input: bool = False, is_output: bool = False) -> Edge:
        fact = self._facts[value]
        dims, dtype = self._facts.boundary_dims(value), fact.dtype
        if dims is None or len(dims) > MAX_RANK:
            dims, dtype = (), 0
        edge = Edge(value.name or "", dtype, dims, is_input, is_output)
        if is_input or is_output:
            self.plan.edges.append(edge)
            self._keep_declaration(value, edge)
        return edge

    def _keep_declaration(self, value: ir.Value, edge: Edge) -> None:
        """Notes how the model writes a boundary value's dims, where the edge would show them differently."""
        if edge.dtype == 0 and self._facts[value].dtype:
            self.plan.meta[f"type:{edge.name}"] = str(self._facts[value].dtype)
        if value.shape is None:
            return
        written = [d if isinstance(d, int) else d.value for d in value.shape]
        if written != [d if isinstance(d, int) else str(d) for d in edge.dims]:
            self.plan.meta[f"dims:{edge.name}"] = json.dumps(written)

    def _read_edge(self, value: ir.Value) -> Edge:
        """The edge a partition reads a value from."""
        if value in self._inputs:
            return self._inputs[value]
        return self._written_edge(value)

    def _written_edge(self, value: ir.Value) -> Edge:
        """The edge a partition writes a value to."""
        if value in self._outputs:
            return self._outputs[value]
        if value not in self._inner:
            self._inner[value] = self._edge(value)
        return self._inner[value]

    def _with_boundary(self, parts: Sequence[Partition]) -> list[Partition]:
        """Adds a native partition that copies outputs of the model that no node makes: inputs, constants."""
        loose = [v for v in dict.fromkeys(self._model.graph.outputs) if v.producer() is None]
        for value in loose:
            fact = self._facts[value]
            if not fact.dtype or fact.dtype == ir.DataType.STRING or fact.dims is None:
                lacking = "of known rank" if fact.dims is None else "of numbers"
                reason = f"Output [{value.name}] is an input or constant that is no tensor {lacking}."
                raise AscendError("E10055", reason)
        inputs = [v for v in loose if not v.is_initializer()]
        return [*parts, Partition("native", [], inputs, loose)] if loose else list(parts)

    # --- partitions ---------------------------------------------------------------------------

    def _native(self, name: str, part: Partition) -> NativePartition:
        """Interpreted; or calls of compiled code where that pays, with the former to fall back on."""
        plain, builder, ledger = self._lowered(name, part, {})
        lowered = [(plain, builder)]
        alone = {i.outs[0].name for i in plain.insns if i.kernel == "elementwise" and "+" not in i.op_type}
        calls = {} if _calls_library(plain) else self._compiled(part, alone)
        if calls:
            made, builder, ledger = self._lowered(name, part, calls, alone)
            made.fallback = plain if self._fallback else None
            lowered = [(made, builder), *(lowered if self._fallback else [])]
        needed = set[str]().union(*(needed_symbols(p.values, p.insns) for p, _ in lowered))
        for missing in sorted(needed - _pure_symbols(_dims_at_boundary(e, r) for e, r in plain.inputs)):
            if missing not in self._sources:
                raise Unsupported("the shape of a value within a node depends on the data")
            for made, builder in lowered:
                edge, ref = self._input(builder, self._sources[missing])
                made.inputs.append((edge, ref))
                made.values.append(ref)
        for made, _ in lowered:
            for edge, ref in made.inputs:
                ref.dims = _dims_at_boundary(edge, ref)
        self.fusions += ledger.outcomes
        return lowered[0][0]

    def _compiled(self, part: Partition, alone: Collection[str]) -> dict[ir.Node, Lowering]:
        """How to call the code of the nodes that are compiled. `alone`: outputs of the elementwise
        instructions that interpreting doesn't merge with others."""
        calls: dict[ir.Node, Lowering] = {}
        if self._code.is_off:
            return calls
        for node in part.nodes:
            if not self._claims.is_known(node):
                _, view = self._semantics.lowered_view(node, self._facts)
                name = f"compiled code of node {label(node)}"
                call = optional(name, partial(self._code.lowering, view, alone), otherwise=None)
                if call is not None:
                    calls[node] = call
        return calls

    def _lowered(
        self, name: str, part: Partition, calls: Mapping[ir.Node, Lowering], alone: Collection[str] = ()
    ) -> tuple[NativePartition, PlanBuilder, Ledger]:
        """With `calls` of compiled code in the place of the lowerings of these nodes."""
        builder = PlanBuilder([v.name for v in part.outputs if v.name])
        inputs = [self._input(builder, value) for value in part.inputs]
        for node in part.nodes:
            if not self._claims.is_known(node):
                with step(of_node(node)):
                    function, view = self._semantics.lowered_view(node, self._facts)
                    lower_node(view, calls.get(node, function), builder)
        outputs = [(self._written_edge(v), builder.result(operand(v, self._facts[v]))) for v in part.outputs]
        made = NativePartition(name, builder.values, builder.insns, inputs, outputs)
        ledger = self._ledger.fresh()
        variant = "compiled" if calls else ""
        run_stage(PARTITION, LoweredPartition(made, ledger, alone if calls else (), variant), self._dump)
        return made, builder, ledger

    def _input(self, builder: PlanBuilder, value: ir.Value) -> tuple[Edge, Ref]:
        return self._read_edge(value), builder.input(operand(value, self._facts[value]))

    def _host(self, name: str, part: Partition) -> HostPartition:
        wanted = set(part.outputs)
        extra = [
            v for node in part.nodes for v in node.outputs if v in self._inner and v not in wanted
        ]  # made here, and read elsewhere only for its shape
        outputs = [*part.outputs, *extra]
        body = host_model(self._model, name, part.nodes, part.inputs, outputs, self._facts)
        reasons = [f"{label(n)} ({n.op_type}): {why}" for n, why in part.reasons.items()]
        return HostPartition(
            name,
            body,
            "; ".join(reasons[:8]) + (f"; and {len(reasons) - 8} more" if len(reasons) > 8 else ""),
            [self._read_edge(v) for v in part.inputs],
            [self._written_edge(v) for v in outputs],
        )

    # --- symbols ------------------------------------------------------------------------------

    def _symbol_sources(self) -> dict[str, ir.Value]:
        """For each symbol a value with that dim: an input of the model, or what a node makes."""
        found: dict[str, ir.Value] = {}
        inner = (v for node in self._model.graph for v in node.outputs)
        for value in (*self._model.graph.inputs, *inner):
            for name in _pure_symbols([self._facts.boundary_dims(value) or ()]):
                found.setdefault(name, value)
        return found

    def _name_symbols(self) -> None:
        names: dict[str, None] = {}
        for edge in self.plan.edges:
            names |= dict.fromkeys(sorted(symbols(edge.dims)))
        for part in self.plan.partitions:
            if isinstance(part, NativePartition):
                names |= dict.fromkeys(sorted(needed_symbols(part.values, part.insns)))
        self.plan.symbols = {name: SymbolRange() for name in names}
        constraints = self._facts.constraints
        found: list[Constraint] = optional("constraints of sizes", constraints.found, otherwise=[])
        self.plan.constraints = [
            replace(a, text=self._constraint_text(a)) for a in found if _symbols_of(a) <= names.keys()
        ]

    def _constraint_text(self, constraint: Constraint) -> str:
        """One sentence that names the axes and the node, to which the runtime adds the sizes."""
        places: dict[str, str] = {}
        for edge in self._inputs.values():
            for axis, dim in enumerate(edge.dims):
                places.setdefault(str(dim), f"axis {axis} of input [{edge.name}]")
        wanted = f"'{constraint.right}'" if isinstance(constraint.right, DimExpr) else str(constraint.right)
        own = f"'{constraint.left}'"
        subject = f"{places[str(constraint.left)]} ({own})" if str(constraint.left) in places else own
        names = sorted(_symbols_of(constraint) - {str(constraint.left)})
        where = ", ".join(f"'{n}' is {places[n]}" for n in names if n in places)
        needed = f"{subject} must be {wanted}{_BUT_ONE[constraint.or_one]} for node [{constraint.text}]"
        return needed + (where and f"; {where}")


_BUT_ONE = {OrOne.NONE: "", OrOne.LEFT: ", or 1,", OrOne.EITHER: ", unless either is 1,"}


def _symbols_of(constraint: Constraint) -> frozenset[str]:
    return symbols([constraint.left, constraint.right])


def _dims_at_boundary(edge: Edge, ref: Ref) -> tuple[Dim, ...]:
    """Those of a value that enters a partition; inputs of the model have the names that this gives them."""
    return edge.dims if edge.is_input else ref.dims


def _calls_library(part: NativePartition) -> bool:
    return any(insn.native is not None for insn in part.insns)


def _pure_symbols(shapes: Iterable[Sequence[Dim]]) -> set[str]:
    """Symbols that are a dim by themselves."""
    return {str(d) for dims in shapes for d in dims if isinstance(d, DimExpr) and d == symbol(str(d))}
