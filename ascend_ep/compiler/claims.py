"""Which nodes run natively: those that lower into a builder that is thrown away."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.naming import label
from ascend_ep.graph.setbacks import Setback, in_words, is_ours, of_node, why_off
from ascend_ep.opdef.definition import canonical_domain
from ascend_ep.opdef.dims import DimTooComplex, static, symbols
from ascend_ep.plan.value_uses import needed_symbols

from .lowering import NodeView, Operand, PlanBuilder, Unsupported, lower_node
from .semantics import Semantics, is_onnx_operator, operand, undefined

#: Domains whose operators onnxruntime brings without a definition of ours.
HOST_DOMAINS = frozenset({"com.microsoft", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"})

#: Operators that it brings in ONNX's domain, at operator sets in which ONNX lacks them.
HOST_OPERATORS = frozenset({"LayerNormalization", "SimplifiedLayerNormalization"})

#: Element types that the `ints` kernel writes.
_DIM_TYPES = frozenset({6, 7, 9})

#: What lowering a node raises when it can't be native.
NOT_LOWERED = (Unsupported, DimTooComplex, OverflowError, ZeroDivisionError)


#: The step without which every node is the host's.
NATIVE = "native partitions"


def _stumbled(raised: str) -> str:
    return f"a mistake of ascend-ep keeps it from being native ({raised})"


class Claims:
    """Called with a node, gives the reason why it can't be native, or None when it can.

    Without `trial` a node that has a lowering is taken to lower; whoever lowers it finds out.
    """

    def __init__(self, semantics: Semantics, facts: Facts, trial: bool = True) -> None:
        self._semantics = semantics
        self._facts = facts
        self._trial = trial
        self._known: dict[ir.Node, bool] = {}

    def __call__(self, node: ir.Node) -> str | None:
        setback = self._facts.setbacks.get(node) or why_off(of_node(node)) or why_off(NATIVE)
        return _stumbled(setback) if setback else self._refusal(node)

    def _refusal(self, node: ir.Node) -> str | None:
        try:
            if self.is_known(node):
                self._check_inputs(node)
                return None
            function, view = self._semantics.lowered_view(node, self._facts)
            self._check_dims(view)
            if not self._trial:
                return None
            builder = PlanBuilder([o.name for o in view.outputs if o is not None])
            for given in {o.name: o for o in view.inputs if o is not None}.values():
                if given.constant is None and given.shape_value is None:
                    builder.input(given)
            lower_node(view, function, builder)
            self._check_needs(builder, view)
        except Unsupported as reason:
            return str(reason)
        except NOT_LOWERED as reason:
            return f"its dimensions can't be computed ({reason})"
        except Exception as error:
            if isinstance(error, Setback) or not is_ours(error):
                raise
            return _stumbled(in_words(error))
        return None

    def is_known(self, node: ir.Node) -> bool:
        """Whether every output is known from constants and dims, so that the node needs no kernel."""
        if node not in self._known:
            self._known[node] = self._find_known(node)
        return self._known[node]

    def _find_known(self, node: ir.Node) -> bool:
        facts = [self._facts[v] for v in node.outputs if v.name]
        if not facts:
            return False
        given = set(self._facts.input_symbols)
        for value in node.inputs:
            if value is not None:
                fact = self._facts[value]
                given |= symbols(fact.dims or ()) | symbols(fact.shape_value or ())
        return all(f.is_const or _is_dims(f, given) for f in facts)

    def _check_inputs(self, node: ir.Node) -> None:
        """What a partition reads needs a type and a rank, even if only a known node wants its shape."""
        for value in node.inputs:
            if value is not None:
                operand(value, self._facts[value])

    def _check_dims(self, view: NodeView) -> None:
        """Output dims must follow from the inputs' shapes, since a plan's shapes are set before it runs."""
        given = self._given(view)
        for result in _operands(view.outputs):
            if not symbols(result.dims) <= given:
                raise Unsupported(f"the shape of its output {result.name!r} depends on the data")
            if any((static(d) or 0) < 0 for d in result.dims):
                raise Unsupported(f"a size of its output {result.name!r} is negative")

    def _check_needs(self, builder: PlanBuilder, view: NodeView) -> None:
        """The same for values within, of a node that is lowered as several."""
        if not needed_symbols(builder.values, builder.insns) <= self._given(view):
            raise Unsupported("the shape of a value that it computes on the way depends on the data")

    def _given(self, view: NodeView) -> set[str]:
        given = set(self._facts.input_symbols)
        for source in _operands(view.inputs):
            given |= symbols(source.dims) | symbols(source.shape_value or ())
        return given


def _is_dims(fact: Fact, given: set[str]) -> bool:
    """Whether the `ints` kernel can write this tensor from these symbols."""
    return (
        fact.shape_value is not None
        and fact.dims is not None
        and fact.dtype in _DIM_TYPES
        and symbols(fact.shape_value) <= given
    )


def _operands(values: Iterable[Operand | None]) -> list[Operand]:
    return [o for o in values if o is not None]


def check_hosts(reasons: dict[ir.Node, str], semantics: Semantics, where: str) -> None:
    """Checks that onnxruntime knows every node that isn't native.

    Raises AscendError E19010 naming all undefined operators, or E20001 for defined ones that nothing runs.
    """
    missing: dict[ir.Node, list[str]] = {}
    stuck: dict[ir.Node, str] = {}
    for node, reason in reasons.items():
        if ends := _ends_host(node):
            stuck[node] = ends
        elif host_runs(node, semantics):
            continue
        elif semantics.definition(node) is None:
            missing[node] = semantics.near_misses(node)
        else:
            stuck[node] = reason
    if missing:
        raise undefined(missing, where, {n: semantics.version(n) for n in missing})
    if stuck:
        details = [f"{label(n)} ({n.op_type}): {reason}" for n, reason in stuck.items()]
        named = [(label(n), n.op_type) for n in stuck]
        raise AscendError("E20001", *named[0], where=where, details=details, nodes=named)


def _ends_host(node: ir.Node) -> str:
    """Why onnxruntime writes outside of its memory for this node, which can end the process; else ""."""
    if (node.domain, node.op_type) == ("com.microsoft", "Attention"):
        sizes = node.attributes.get_ints("qkv_hidden_sizes", [])
        if len(sizes) == 3 and sizes[1] != sizes[2] and len(node.outputs) > 1 and node.outputs[1].name:
            return "its keys and values, which it hands out in one tensor, are of different sizes"
    return ""


def host_runs(node: ir.Node, semantics: Semantics) -> bool:
    """Whether onnxruntime's CPU provider has this operator, or the model has its body."""
    pending, seen = [node], {node.op_identifier()}
    while pending:
        one = pending.pop()
        domain = canonical_domain(one.domain)
        if domain in HOST_DOMAINS or (domain == "" and one.op_type in HOST_OPERATORS):
            continue
        if is_onnx_operator(one, semantics.version(one)):
            continue
        body = semantics.functions.get(one.op_identifier())
        if body is None:
            return False
        for inner in body:
            if inner.op_identifier() not in seen:
                seen.add(inner.op_identifier())
                pending.append(inner)
    return True
