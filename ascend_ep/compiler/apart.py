"""What a plan and the one made without names and declared shapes have to do with each other.

Where both have a partition with the same boundary, one can run instead of the other (native/core/apart.c).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ascend_ep.opdef.dims import DimExpr
from ascend_ep.plan.plan import INPUT, Edge, NativePartition, Plan, Ref

Range = tuple[int, int | None]


def ranges_apart(edges: Sequence[Edge], ranges: Mapping[str, Range]) -> dict[str, Range]:
    """The ranges of named sizes, for the names that the axes of inputs have in a model without names."""
    return {
        f"{edge.name}_d{axis}": ranges[str(dim)]
        for edge in edges
        if edge.is_input
        for axis, dim in enumerate(edge.dims)
        if isinstance(dim, DimExpr) and str(dim) in ranges
    }


def align_boundaries(plan: Plan, apart: Plan) -> None:
    """Gives partitions that make the same the same inputs, in one order: each also takes what only the other
    reads, for its sizes, as far as that is an input of the model."""
    theirs = {_outputs(part): part for part in apart.partitions if isinstance(part, NativePartition)}
    for part in plan.partitions:
        other = theirs.get(_outputs(part)) if isinstance(part, NativePartition) else None
        if not isinstance(part, NativePartition) or other is None:
            continue
        ours, others = _inputs(part), _inputs(other)
        if not all(edge.is_input for edge in (*_missing(ours, others), *_missing(others, ours))):
            continue
        for owner, lacking, boundary in (
            (part, _missing(ours, others), plan),
            (other, _missing(others, ours), apart),
        ):
            for edge in lacking:
                own = next(e for e in boundary.edges if e.name == edge.name and e.is_input)
                for taker in _with_fallback(owner):
                    _take(taker, own)
        order = {name: i for i, name in enumerate(_inputs(part))}
        for taker in _with_fallback(other):
            taker.inputs.sort(key=lambda taken: order[taken[0].name])


def _with_fallback(part: NativePartition) -> list[NativePartition]:
    return [part] if part.fallback is None else [part, part.fallback]


def _outputs(part: NativePartition | object) -> tuple[str, ...]:
    return tuple(edge.name for edge, _ in part.outputs) if isinstance(part, NativePartition) else ()


def _inputs(part: NativePartition) -> dict[str, Edge]:
    return {edge.name: edge for edge, _ in part.inputs}


def _missing(ours: Mapping[str, Edge], others: Mapping[str, Edge]) -> list[Edge]:
    """What the others read and we don't."""
    return [edge for name, edge in others.items() if name not in ours]


def _take(part: NativePartition, edge: Edge) -> None:
    """An input that no instruction reads."""
    ref = Ref(edge.name, edge.dtype, edge.dims, INPUT)
    part.values.append(ref)
    part.inputs.append((edge, ref))
