"""Nodes that change nothing, or that two of can be one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx_ir as ir

from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.rewire import add_constant, attribute, bypass, is_standard
from ascend_ep.opdef.dims import Dim

#: What a simplification does with one node: whether it changed the graph.
Simplification = Callable[[ir.Node, Facts, int], bool]

_RULES: dict[str, list[Simplification]] = {}


def simplifies(*op_types: str) -> Callable[[Simplification], Simplification]:
    def register(rule: Simplification) -> Simplification:
        for op_type in op_types:
            _RULES.setdefault(op_type, []).append(rule)
        return rule

    return register


class Simplify(ir.passes.InPlacePass):
    """Removes no-op nodes and merges chains of layout operators. Every remaining value keeps its bits.

    Facts are forgotten where there may be more to know then.
    """

    def __init__(self, facts: KnownFacts) -> None:
        self.facts = facts

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        facts = self.facts.of(model)
        version = model.opset_imports.get("", 1)
        modified = learned = False
        for node in list(model.graph):
            if node.domain not in ("", "ai.onnx") or node.graph is None or node.inputs[:1] in ((), (None,)):
                continue
            reveals = _may_reveal(node, facts)
            for rule in _RULES.get(node.op_type, ()):
                if rule(node, facts, node.version or version):
                    modified, learned = True, learned or reveals
                    break
        if learned:
            self.facts.invalidate()
        return ir.passes.PassResult(model, modified)


def _may_reveal(node: ir.Node, facts: Facts) -> bool:
    """Whether more is known of what readers of `node` may read in its place, or nothing yet."""
    value, output = _first(node), node.outputs[0]
    before, after = facts[value], facts[output]
    if node.op_type == "Where":
        return True
    if output.is_graph_output() and (value.producer() is None or value.is_graph_output()):
        return True  # an Identity may take its place, of which nothing is known
    if before.dims != after.dims:
        return True
    return (before.shape_value is not None and after.shape_value is None) or before.is_const > after.is_const


def _first(node: ir.Node) -> ir.Value:
    value = node.inputs[0]
    assert value is not None
    return value


@simplifies("Identity")
def _identity(node: ir.Node, facts: Facts, version: int) -> bool:
    return bypass(node, _first(node))


@simplifies("Dropout")
def _dropout(node: ir.Node, facts: Facts, version: int) -> bool:
    """In inference it is an identity; its mask must be unused."""
    if any(o.uses() or o.is_graph_output() for o in node.outputs[1:]):
        return False
    mode = node.inputs[2] if version >= 12 and len(node.inputs) > 2 else None
    if mode is not None:
        training = facts[mode].const
        if training is None or bool(training.reshape(-1)[0]):
            return False
    return bypass(node, _first(node))


@simplifies("Where")
def _decided(node: ir.Node, facts: Facts, version: int) -> bool:
    """A condition that is a constant, and the same throughout, leaves one operand, unless it is broadcast."""
    condition = facts[_first(node)].const
    if condition is None or not condition.size or bool(condition.any()) != bool(condition.all()):
        return False
    chosen = node.inputs[1 if condition.all() else 2]
    if chosen is None or facts[chosen].dims is None or facts[chosen].dims != facts[node.outputs[0]].dims:
        return False
    return bypass(node, chosen)


@simplifies("Cast")
def _same_type(node: ir.Node, facts: Facts, version: int) -> bool:
    source = facts[_first(node)]
    return source.dtype == attribute(node, "to") and source.dtype != 0 and bypass(node, _first(node))


@simplifies(
    "Reshape", "Expand", "Slice", "Tile", "Pad", "Squeeze", "Unsqueeze", "Flatten", "Concat", "Resize"
)
def _same_tensor(node: ir.Node, facts: Facts, version: int) -> bool:
    """Layout operators whose output has the very dims of the input."""
    value, output = _first(node), node.outputs[0]
    before, after = facts[value], facts[output]
    if before.dims is None or before.dims != after.dims or before.dtype != after.dtype:
        return False
    if is_standard(node, "Concat") and len([v for v in node.inputs if v is not None]) > 1:
        return False
    if is_standard(node, "Slice") and not _is_forward(node, facts, version):
        return False
    if is_standard(node, "Pad") and not _pads_nothing(node, facts, version):
        return False
    if is_standard(node, "Resize") and not before.static_dims:
        return False
    return not (is_standard(node, "Resize") and _crops(node)) and bypass(node, value)


def _is_forward(node: ir.Node, facts: Facts, version: int) -> bool:
    if version < 10 or len(node.inputs) < 5 or node.inputs[4] is None:
        return True
    steps = facts[node.inputs[4]].shape_value
    return steps is not None and all(s == 1 for s in steps)


def _pads_nothing(node: ir.Node, facts: Facts, version: int) -> bool:
    """Equal dims may still come of padding one end and cutting the other."""
    if version < 11:
        pads = attribute(node, "pads", ())
        return all(p == 0 for p in pads)  # type: ignore[attr-defined]
    amounts = None if len(node.inputs) < 2 or node.inputs[1] is None else facts[node.inputs[1]].shape_value
    return amounts is not None and all(a == 0 for a in amounts)


def _crops(node: ir.Node) -> bool:
    return attribute(node, "coordinate_transformation_mode", "") == "tf_crop_and_resize"


@simplifies("Transpose")
def _transpose(node: ir.Node, facts: Facts, version: int) -> bool:
    """Nothing to do, or one Transpose for two."""
    value = _first(node)
    dims = facts[value].dims
    if dims is None:
        return False
    perm = _perm(node, len(dims))
    if perm == list(range(len(dims))):
        return bypass(node, value)
    inner = value.producer()
    if inner is None or not is_standard(inner, "Transpose") or inner.graph is not node.graph:
        return False
    source = _first(inner)
    node.replace_input_with(0, source)
    node.attributes["perm"] = ir.AttrInt64s("perm", [_perm(inner, len(dims))[p] for p in perm])
    return True


def _perm(node: ir.Node, rank: int) -> list[int]:
    perm = attribute(node, "perm")
    if perm is None:
        return list(reversed(range(rank)))
    return [int(p) for p in perm]  # type: ignore[attr-defined]


_RESHAPING = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")


@simplifies("Reshape")
def _reshape_chain(node: ir.Node, facts: Facts, version: int) -> bool:
    """A Reshape of a reshaped tensor reads the original; its target must not copy dims of its input (0)."""
    value = _first(node)
    inner = value.producer()
    if inner is None or not is_standard(inner, *_RESHAPING) or inner.graph is not node.graph or version < 5:
        return False
    target = node.inputs[1]
    wanted = None if target is None else facts[target].shape_value
    if wanted is None or any(w == 0 for w in wanted):
        return False
    source = _first(inner)
    if facts[source].dims is None:
        return False
    node.replace_input_with(0, source)
    return True


@simplifies("Reshape")
def _static_target(node: ir.Node, facts: Facts, version: int) -> bool:
    """A computed target becomes a constant: numbers, 0 where a dimension is copied, or one -1."""
    target, output = node.inputs[1] if len(node.inputs) > 1 else None, node.outputs[0]
    dims = facts[output].dims
    if target is None or dims is None or target.is_initializer() or not isinstance(node.graph, ir.Graph):
        return False
    wanted = _target(facts[_first(node)].dims or (), dims)
    if wanted is None:
        return False
    array = np.array(wanted, dtype=np.int64)
    tensor = ir.tensor(array)
    constant = add_constant(node.graph, f"{output.name}.shape", tensor)
    facts[constant] = Fact(7, array.shape, tensor=tensor)
    node.replace_input_with(1, constant)
    node.attributes.pop("allowzero", None)  # with it, 0 would be a size
    return True


def _target(source: Sequence[Dim], dims: Sequence[Dim]) -> list[int] | None:
    """Reshape's operand for `dims`, right for empty tensors too: -1 only beside positive numbers."""
    copied = [0 if i < len(source) and d == source[i] else d for i, d in enumerate(dims)]
    numbers = [d if isinstance(d, int) else -1 for d in copied]
    if any(d == 0 for d in dims):
        return None
    if numbers.count(-1) == 0:
        return numbers
    alone = [d if isinstance(d, int) else -1 for d in dims]
    return alone if alone.count(-1) == 1 and 0 not in alone else None
