"""What the nodes around a rotation must be: which elements they take, how they put them together."""

from __future__ import annotations

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.fusion.pattern import Match
from ascend_ep.opdef.dims import Dim

NOT_PAIRS = "its slices are not every second element of the last axis"


def piece_of(node: ir.Node, part: int, facts: Facts) -> slice | None:
    """What a Slice, or the output `part` of a Split, takes of the last axis alone; None for any other."""
    dims = facts[node.inputs[0]].dims if node.inputs[0] is not None else None
    if not dims or not isinstance(dims[-1], int):
        return None
    return _split(node, part, dims, facts) if node.op_type == "Split" else _sliced(node, dims, facts)


def _sliced(node: ir.Node, dims: tuple[Dim, ...], facts: Facts) -> slice | None:
    given = [None if v is None else facts[v].shape_value for v in node.inputs[1:]]
    if len(given) < 3 or any(o is None or len(o) != 1 for o in given):
        return None
    numbers = [o[0] for o in given if o is not None]
    start, stop, axis, step = (*numbers, 1)[:4]
    size = dims[-1]
    if not all(isinstance(n, int) for n in (start, stop, axis, step, size)):
        return None
    assert isinstance(start, int) and isinstance(stop, int)  # noqa: PT018
    assert isinstance(step, int) and isinstance(size, int)  # noqa: PT018
    if axis not in (-1, len(dims) - 1) or step < 1:
        return None
    return slice(*slice(start, stop, step).indices(size))


def _split(node: ir.Node, part: int, dims: tuple[Dim, ...], facts: Facts) -> slice | None:
    axis = node.attributes.get("axis")
    if (axis.as_int() if axis is not None else 0) not in (-1, len(dims) - 1) or len(node.outputs) != 2:
        return None
    first, second = (facts[o].dims for o in node.outputs)
    if not first or not second or not isinstance(first[-1], int) or not isinstance(second[-1], int):
        return None
    ends = (0, first[-1], first[-1] + second[-1])
    return slice(ends[part], ends[part + 1], 1)


def check_table(name: str, match: Match, facts: Facts) -> str | None:
    """Unless a table broadcasts to x without making it larger, differs only by batch and position, and has a
    column for each element where x is multiplied as a whole, for each pair where its parts are."""
    x, table = facts[match.values["x"]].dims or (), facts[match.values[name]].dims
    width = _width(match, facts)
    if table is None or not 2 <= len(table) <= len(x) or table[-1] != width or table[-2] != x[-2]:
        return f"its {name} is not a table of [sequence, {width}]"
    lead = [1] * (len(x) - len(table)) + list(table[:-2])
    if any(d != 1 for d in lead[1:]) or (lead and lead[0] not in (1, x[0])):
        return f"its {name} differs between heads"
    return None


def _width(match: Match, facts: Facts) -> Dim | None:
    """The last dim of what is multiplied by the tables: x, or a part when Neg is nowhere."""
    whole = any(node.op_type == "Neg" for node in match.matched)
    dims = facts[match.values["x" if whole else "part0"]].dims
    return dims[-1] if dims else None


def check_paired(match: Match, size: int, facts: Facts) -> str | None:
    """Unless every second element is taken, and results stand in turn again."""
    source = facts[match.values["x"]].dims or ()
    half = (*source[:-1], size // 2)
    paired = match.nodes.get("paired")
    if paired is None:
        wanted = (slice(0, size, 2), slice(1, size, 2))
        if tuple(piece_of(match.nodes[f"piece{i}"], i, facts) for i in (0, 1)) != wanted:
            return NOT_PAIRS
    elif facts[paired.outputs[0]].dims != (*half, 2) or not all(_takes_one(match, i, facts) for i in (0, 1)):
        return NOT_PAIRS
    if any(facts[match.values[f"part{i}"]].dims != half for i in (0, 1)):
        return NOT_PAIRS
    joined, flat = match.nodes["joined"], match.nodes["flat"]
    lifted = [facts[match.nodes[f"lifted{i}"].outputs[0]].dims for i in (0, 1)]
    axis = joined.attributes["axis"].as_int()
    if any(dims != (*half, 1) for dims in lifted) or axis not in (-1, len(source)) or len(joined.inputs) != 2:
        return "its results are not stacked along a last axis"
    return (
        None
        if facts[flat.outputs[0]].dims == source
        else "its results are not flattened to the input's shape"
    )


def _takes_one(match: Match, part: int, facts: Facts) -> bool:
    """Whether a piece is the element `part` of each pair of [..., D/2, 2]."""
    node = match.nodes[f"piece{part}"]
    if node.op_type == "Gather":
        axis, rank = node.attributes.get("axis"), len(facts[match.nodes["paired"].outputs[0]].dims or ())
        return (axis.as_int() if axis is not None else 0) in (-1, rank - 1)
    return piece_of(node, part, facts) == slice(part, part + 1, 1)


def check_regrouped(match: Match, size: int, facts: Facts) -> str | None:
    """Unless [..., D] becomes [..., D/2, 2], its last axes change places and it becomes [..., D] again."""
    source = facts[match.values["x"]].dims or ()
    paired, swapped, whole = (match.nodes[n] for n in ("paired", "swapped", "whole"))
    perm, rank = swapped.attributes.get("perm"), len(source) + 1
    wanted = (*range(rank - 2), rank - 1, rank - 2)
    if (
        facts[paired.outputs[0]].dims != (*source[:-1], size // 2, 2)
        or facts[whole.outputs[0]].dims != source
    ):
        return "its pairs are not those of the last axis"
    return (
        None
        if perm is not None and tuple(perm.as_ints()) == wanted
        else "its pairs are rotated in another way"
    )
