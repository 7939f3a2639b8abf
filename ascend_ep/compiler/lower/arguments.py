"""Reading the arguments of a node that must be known at conversion: axes, counts, sizes, splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Ref, Unsupported
from ascend_ep.opdef.dims import static
from ascend_ep.opdef.dtypes import BOOL, INT64
from ascend_ep.plan.kernel_params import EXPECT_INTS, choices

REDUCTIONS = choices("asc_scatter")


def operand(operands: Sequence[Operand | None], index: int) -> Operand | None:
    """The index-th operand, or None when it is absent."""
    return operands[index] if index < len(operands) else None


def needed(operands: Sequence[Operand | None], index: int) -> Operand:
    """The index-th operand of a node that can't do without it."""
    found = operand(operands, index)
    if found is None:
        raise Unsupported(f"its operand {index} is absent")
    return found


def known_elements(source: Operand, what: str) -> list[Dim]:
    """The elements of an int tensor, as dims; Unsupported when they come with the data."""
    if source.const is not None:
        return [int(v) for v in source.const.reshape(-1)]
    if source.shape_value is not None:
        return list(source.shape_value)
    raise Unsupported(f"its {what} are known only at run time")


def known_ints(source: Operand, what: str) -> list[int]:
    """The elements of an int tensor, as integers; Unsupported when they depend on anything."""
    elements = [static(e) for e in known_elements(source, what)]
    if any(e is None for e in elements):
        raise Unsupported(f"its {what} depend on the input shapes")
    return [e for e in elements if e is not None]


def run_time_ints(b: PlanBuilder, source: Operand | None) -> Ref | None:
    """The value of an int tensor for a kernel that reads it as it runs; None when it is absent."""
    return None if source is None else b.cast(b.contiguous(b.ref(source)), INT64)


def is_run_time(source: Operand | None) -> bool:
    """Whether the elements of an int tensor come with the data."""
    return source is not None and source.constant is None and source.shape_value is None


def expect_ints(b: PlanBuilder, source: Operand | None, choices: Sequence[Sequence[Dim]]) -> None:
    """Has the run fail unless element i of an int tensor is one of choices[i], all of one length: for sizes
    that come with the data where the plan has those that the model declares. Nothing for known elements."""
    if source is None or not is_run_time(source):
        return
    ints = EXPECT_INTS.pack(*choices, choices=len(choices[0]) if choices else 1)
    b.emit("expect_ints", [run_time_ints(b, source)], [b.temp(BOOL, ())], ints)


def axis_of(node: NodeView, rank: int, default: int | None = None, name: str = "axis") -> int:
    """The axis attribute, counted from the front."""
    axis = node.attr(name, default)
    if axis is None:
        raise Unsupported(f"its attribute {name} is missing")
    return wrap_axis(int(axis), rank)


def wrap_axis(axis: int, rank: int) -> int:
    """A possibly negative axis of a tensor of that rank, counted from the front."""
    if not -rank <= axis < rank:
        raise Unsupported(f"its axis {axis} is outside rank {rank}")
    return axis % rank if rank else 0


def enum_of(node: NodeView, name: str, values: Sequence[str] | Mapping[str, int], default: str) -> int:
    """The number of a string attribute: its position among the values, or what they give it."""
    given = node.attr(name, default)
    if given not in values:
        raise Unsupported(f"its attribute {name}={given!r} is none of {', '.join(values)}")
    return values[given] if isinstance(values, Mapping) else values.index(given)
