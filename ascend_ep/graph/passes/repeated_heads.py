"""Heads repeated for grouped queries, and keys transposed, where sizes are free: exporters compute targets of
Reshape and Expand for them, which no fusion covers. Gather and Transpose say the same without any size.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.passes.rewire import add_constant, attribute, bypass, is_standard
from ascend_ep.graph.passes.simplify import simplifies
from ascend_ep.opdef.dims import Dim


@simplifies("Reshape")
def _gathered_heads(node: ir.Node, facts: Facts, version: int) -> bool:
    """[B, G, S, D] lifted to [B, G, n, S, D] and flattened to [B, G*n, S, D], of any B and S."""
    wide = node.inputs[0]
    dims = None if wide is None else facts[wide].dims
    if wide is None or dims is None or _has_fixed_target(node):
        return False
    if len(dims) != 5 or facts[node.outputs[0]].dims != _merged(dims):
        return False
    heads = _gather(node, wide, facts)
    return heads is not None and bypass(node, heads)


@simplifies("Reshape")
def _transposed_keys(node: ir.Node, facts: Facts, version: int) -> bool:
    """[B, H, S, D] with its last axes exchanged by way of [B*H, S, D], of any B and S."""
    transposed = None if node.inputs[0] is None else node.inputs[0].producer()
    flat = None if transposed is None or transposed.inputs[0] is None else transposed.inputs[0].producer()
    if (
        transposed is None
        or flat is None
        or not (is_standard(transposed, "Transpose") and is_standard(flat, "Reshape"))
    ):
        return False
    source = flat.inputs[0]
    if source is None or _has_fixed_target(node) or list(attribute(transposed, "perm", ())) != [0, 2, 1]:  # type: ignore[call-overload]
        return False
    dims, middle = facts[source].dims, facts[flat.outputs[0]].dims
    if dims is None or middle is None or len(middle) != 3 or len(dims) not in (4, 5):
        return False
    batch, heads, keys, size = _merged(dims) if len(dims) == 5 else dims
    if middle[1:] != (keys, size) or facts[node.outputs[0]].dims != (batch, heads, size, keys):
        return False
    whole = source if len(dims) == 4 else _gather(node, source, facts)
    if whole is None:
        return False
    made = ir.node("Transpose", [whole], {"perm": [0, 1, 3, 2]}, name=transposed.name)
    return bypass(node, _insert(node, made, (batch, heads, size, keys), facts))


def _has_fixed_target(node: ir.Node) -> bool:
    return len(node.inputs) < 2 or node.inputs[1] is None or node.inputs[1].is_initializer()


def _merged(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    return (dims[0], dims[1] * dims[2], *dims[3:])


def _gather(place: ir.Node, wide: ir.Value, facts: Facts) -> ir.Value | None:
    """What `wide`, Expand of Unsqueeze, has on its merged axes 1 and 2, before `place`; None when it is
    another thing."""
    expand = wide.producer()
    lifted = None if expand is None or not is_standard(expand, "Expand") else expand.inputs[0]
    unsqueeze = None if lifted is None else lifted.producer()
    if lifted is None or unsqueeze is None or not is_standard(unsqueeze, "Unsqueeze"):
        return None
    source, dims = unsqueeze.inputs[0], facts[wide].dims
    if source is None or dims is None or not isinstance(place.graph, ir.Graph):
        return None
    batch, heads, times, keys, size = dims
    if not isinstance(heads, int) or not isinstance(times, int) or times < 1:
        return None
    if facts[source].dims != (batch, heads, keys, size):
        return None
    if facts[lifted].dims != (batch, heads, 1, keys, size):
        return None
    tensor = ir.tensor(np.repeat(np.arange(heads), times))
    indices = add_constant(place.graph, f"{wide.name}.heads", tensor)
    facts[indices] = Fact(7, (heads * times,), tensor=tensor)
    made = ir.node("Gather", [source, indices], {"axis": 1}, name=expand.name if expand else None)
    return _insert(place, made, _merged(dims), facts)


def _insert(place: ir.Node, made: ir.Node, dims: tuple[Dim, ...], facts: Facts) -> ir.Value:
    value, like = made.outputs[0], place.outputs[0]
    value.name, value.type = f"{like.name}.{made.op_type.lower()}", like.type
    facts[value] = Fact(facts[like].dtype, dims)
    assert place.graph is not None
    place.graph.insert_before(place, made)
    return value
