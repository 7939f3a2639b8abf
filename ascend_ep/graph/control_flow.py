"""Shapes of If, Loop and Scan: their bodies are inferred with what is known outside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import onnx_ir as ir

from ascend_ep.graph.declared import declared_fact
from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.naming import fresh_symbol, named_value
from ascend_ep.opdef.dims import Dim, DimExpr, symbols

#: Infers a body whose inputs have these facts; the facts of its outputs.
InferBody = Callable[[ir.Graph, Sequence[Fact]], list[Fact]]

OPERATORS = frozenset({"If", "Loop", "Scan"})
ROUNDS = 5  #: in which the shape of what a loop carries has to settle


def infer_control_flow(node: ir.Node, version: int, facts: Facts, infer: InferBody) -> list[Fact]:
    """The facts of the outputs of a node of OPERATORS: unknown where bodies disagree or ranks change."""
    results = _infer(node, version, facts, infer)
    _give_types(node)
    own = {v.name for body in _bodies(node) for v in _values(body)}
    return [_outside(f, v, own) for f, v in zip(results, node.outputs, strict=True)]


def _give_types(node: ir.Node) -> None:
    """Sequences and optionals, of which there are no facts, are of the type that the body gives them."""
    place = 1 if node.op_type == "Loop" else 0  # behind the condition
    for body in _bodies(node):
        for value, inner in zip(node.outputs, body.outputs[place:], strict=False):
            if value.type is None and isinstance(inner.type, ir.SequenceType | ir.OptionalType):
                value.type = inner.type


def taken_branch(node: ir.Node, facts: Facts) -> ir.Graph | None:
    """The branch that an If takes; None when only sizes or data decide."""
    condition = node.inputs[0] if node.inputs else None
    known = None if condition is None else facts[condition].const
    if known is None or known.size != 1:
        return None
    branch = node.attributes.get("then_branch" if known.reshape(-1)[0] else "else_branch")
    return None if branch is None or branch.is_ref() else branch.as_graph()


def _bodies(node: ir.Node) -> list[ir.Graph]:
    return [a.as_graph() for a in node.attributes.values() if a.type == ir.AttributeType.GRAPH]


def _values(body: ir.Graph) -> Iterator[ir.Value]:
    yield from body.inputs
    for node in body:
        yield from node.outputs


def _outside(fact: Fact, value: ir.Value, own: Collection[str | None]) -> Fact:
    """What is known of `value` from the fact of a body with values of the names `own`. Sizes that only the
    body knows get a name of their own: another body may have values of the same names."""
    if fact.dims is None:
        return Fact(fact.dtype, varies=fact.varies)
    dims = [
        fresh_symbol(value, axis) if any(named_value(s) in own for s in symbols((dim,))) else dim
        for axis, dim in enumerate(fact.dims)
    ]
    return Fact(fact.dtype, dims)


def _infer(node: ir.Node, version: int, facts: Facts, infer: InferBody) -> list[Fact]:
    bodies = _bodies(node)
    inputs = [Fact() if v is None else Fact(facts[v].dtype, facts[v].dims) for v in node.inputs]
    if node.op_type == "If" and len(bodies) == 2:
        if (taken := taken_branch(node, facts)) is not None:
            bodies = [taken]
        branches = [infer(body, []) for body in bodies] * (3 - len(bodies))
        if all(len(b) == len(node.outputs) for b in branches):
            return [_common(a, b, v) for a, b, v in zip(*branches, node.outputs, strict=True)]
    elif node.op_type == "Loop" and len(bodies) == 1 and len(bodies[0].inputs) == len(inputs):
        return _infer_loop(node, bodies[0], inputs, infer)
    elif node.op_type == "Scan" and len(bodies) == 1 and version > 8:
        return _infer_scan(node, bodies[0], inputs, infer)
    for body in bodies:
        infer(body, [_declared(v) for v in body.inputs])
    return [Fact() for _ in node.outputs]


def _infer_loop(node: ir.Node, body: ir.Graph, inputs: Sequence[Fact], infer: InferBody) -> list[Fact]:
    """Body: iteration, condition, carried values -> condition, carried values, rows of what is kept."""
    carried = len(inputs) - 2
    around = [Fact(7, ()), Fact(9, ())]
    start = [_known(f, v) for f, v in zip(inputs[2:], body.inputs[2:], strict=True)]
    settled, outs = _settle(body, start, 2, lambda held: [*around, *held], 1, infer)
    kept = [
        f if f.dims is None else Fact(f.dtype, (fresh_symbol(v, 0), *f.dims))
        for f, v in zip(outs[1 + carried :], node.outputs[carried:], strict=False)
    ]
    return _padded([*settled, *kept], len(node.outputs))


def _infer_scan(node: ir.Node, body: ir.Graph, inputs: Sequence[Fact], infer: InferBody) -> list[Fact]:
    """Body: states, a slice of each sequence -> states, slices of what is kept."""
    count = node.attributes["num_scan_inputs"].as_int() if "num_scan_inputs" in node.attributes else 0
    states = len(inputs) - count
    if not 0 <= states <= len(body.inputs) or count < 1:
        return [Fact() for _ in node.outputs]
    length: Dim | None = None
    slices = []
    for fact, axis in zip(inputs[states:], _axes(node, "scan_input_axes", count), strict=True):
        dims = fact.dims
        if dims is None or not -len(dims) <= axis < len(dims):
            slices.append(Fact(fact.dtype))
            continue
        length = dims[axis] if length is None or isinstance(length, DimExpr) else length
        slices.append(Fact(fact.dtype, [d for i, d in enumerate(dims) if i != axis % len(dims)]))
    start = [_known(f, v) for f, v in zip(inputs[:states], body.inputs, strict=False)]
    settled, outs = _settle(body, start, 0, lambda held: [*held, *slices], 0, infer)
    kept = []
    axes = _axes(node, "scan_output_axes", max(len(outs) - states, 0))
    for fact, axis in zip(outs[states:], axes, strict=True):
        if fact.dims is None or length is None or not -len(fact.dims) - 1 <= axis <= len(fact.dims):
            kept.append(Fact(fact.dtype))
            continue
        place = axis % (len(fact.dims) + 1)
        kept.append(Fact(fact.dtype, [*fact.dims[:place], length, *fact.dims[place:]]))
    return _padded([*settled, *kept], len(node.outputs))


def _settle(
    body: ir.Graph,
    start: list[Fact],
    place: int,
    arguments: Callable[[list[Fact]], list[Fact]],
    first: int,
    infer: InferBody,
) -> tuple[list[Fact], list[Fact]]:
    """What holds of the carried values before and after every step, and the body's outputs given that.

    `place`, `first`: of the first carried value among the inputs and outputs of the body.
    """
    held = start
    for left in reversed(range(ROUNDS)):
        outs = infer(body, arguments(held))
        after = outs[first : first + len(held)]
        after += [Fact() for _ in range(len(held) - len(after))]
        values = body.inputs[place : place + len(held)]
        joined = [_common(h, a, v) for h, a, v in zip(held, after, values, strict=True)]
        if [(f.dtype, f.dims) for f in joined] == [(f.dtype, f.dims) for f in held]:
            return held, outs
        if left < 3:  # what is known of one value rests on another's, which took several steps to change
            joined = [
                _of_any_size(f, v) if left > 1 else Fact(f.dtype) for f, v in zip(joined, values, strict=True)
            ]
        held = joined
    return held, [Fact(f.dtype, varies=f.varies) for f in outs]


def _of_any_size(fact: Fact, value: ir.Value) -> Fact:
    """The rank alone."""
    dims = None if fact.dims is None else [fresh_symbol(value, i) for i in range(len(fact.dims))]
    return Fact(fact.dtype, dims, varies=fact.varies)


def _common(a: Fact, b: Fact, value: ir.Value) -> Fact:
    """What two facts agree on; a dimension they don't is one of `value`'s own."""
    dtype = a.dtype if a.dtype == b.dtype else 0
    if a.dims is None or b.dims is None or len(a.dims) != len(b.dims):
        return Fact(dtype, varies=a.varies or b.varies or None not in (a.dims, b.dims))
    pairs = enumerate(zip(a.dims, b.dims, strict=True))
    return Fact(dtype, [x if x == y else fresh_symbol(value, i) for i, (x, y) in pairs])


def _known(fact: Fact, value: ir.Value) -> Fact:
    """What enters a body: the fact outside, or what the body declares where there is none."""
    declared = _declared(value)
    return Fact(fact.dtype or declared.dtype, declared.dims if fact.dims is None else fact.dims)


def _declared(value: ir.Value) -> Fact:
    return declared_fact(value, fresh=value.name or "body")


def _axes(node: ir.Node, name: str, count: int) -> list[int]:
    given = [int(v) for v in node.attributes[name].as_ints()] if name in node.attributes else []
    return given if len(given) == count else [0] * count


def _padded(facts: list[Fact], count: int) -> list[Fact]:
    """Facts of their own, one for each of `count` outputs."""
    own = [Fact(f.dtype, f.dims, varies=f.varies) for f in facts[:count]]
    return own + [Fact() for _ in range(count - len(own))]
