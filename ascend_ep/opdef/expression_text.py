"""Expressions as formula text: the inverse of formula.parse_formula."""

from __future__ import annotations

import math

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import (
    AddAt,
    Apply,
    AttributeRef,
    AxisRange,
    Cast,
    Chunk,
    Concat,
    Constant,
    Expression,
    Given,
    Index,
    Input,
    Local,
    Number,
    Program,
    Reduce,
    Slice,
    SumTo,
    Take,
    TopK,
    Transpose,
    Unsqueeze,
    Windows,
    children,
)

#: operation -> (spelling, binding strength); a power binds tighter than the sign before it.
_INFIX = {
    "or": (" or ", 1),
    "and": (" and ", 2),
    "eq": (" == ", 4),
    "ne": (" != ", 4),
    "lt": (" < ", 4),
    "le": (" <= ", 4),
    "gt": (" > ", 4),
    "ge": (" >= ", 4),
    "add": (" + ", 5),
    "sub": (" - ", 5),
    "mul": ("*", 6),
    "div": ("/", 6),
    "floordiv": ("//", 6),
    "mod": (" % ", 6),
    "pow": ("^", 8),
}
_TIGHTEST = 9
_NAMED = {math.pi: "pi", math.e: "e"}


def program_text(program: Program) -> str:
    """The program as formula text."""
    outputs = [(name, value) for name, value in program.outputs if value != Local(name)]
    return "\n".join(f"{name} = {to_text(value)}" for name, value in (*program.lets, *outputs))


def to_text(node: Expression) -> str:
    """The expression as formula text; parsing it gives the same tree, but for Number and Position, which no
    formula has."""
    return _text(node)[0]


def _text(node: Expression) -> tuple[str, int]:
    if isinstance(node, Constant):
        return _constant_text(node)
    if isinstance(node, Number):
        return f"{dtypes.name(node.dtype)}({node.value})", _TIGHTEST
    if isinstance(node, Input | Local | AttributeRef):
        return node.name, _TIGHTEST
    if isinstance(node, Given):
        return f"given({node.name})", _TIGHTEST
    if isinstance(node, Apply):
        return _apply_text(node)
    return f"{_name(node)}({', '.join([to_text(c) for c in children(node)] + _options(node))})", _TIGHTEST


def _name(node: Expression) -> str:
    """The function that makes a node."""
    if isinstance(node, Cast):
        return dtypes.name(node.dtype)
    if isinstance(node, Reduce):
        return node.op
    if isinstance(node, Index):
        return "size" if node.size else "index"
    if isinstance(node, TopK):
        return "topk_indices" if node.indices else "topk"
    named = {SumTo: "sum_to", AddAt: "add_at"}
    return named.get(type(node)) or type(node).__name__.lower()


def _options(node: Expression) -> list[str]:
    """What a call gives by name."""
    if isinstance(node, Reduce):
        keep = [] if node.keepdims else ["keepdims=false"]
        return [f"axis={_axes_text(node.axes)}", *keep]
    if isinstance(node, Index):
        return [f"axis={_axes_text(node.axis)}"]
    if isinstance(node, Unsqueeze):
        return [f"axis={_axes_text(node.axes)}"]
    if isinstance(node, Transpose):
        return [f"axis=[{_axes_text(node.first)}, {_axes_text(node.second)}]"]
    if isinstance(node, Concat | Take | AddAt | Slice | Chunk | Windows):
        return [*_numbers(node), f"axis={_axes_text(node.axis)}"]
    if isinstance(node, TopK):
        largest = node.largest.name if isinstance(node.largest, AttributeRef) else str(node.largest).lower()
        order = [] if node.largest is True else [f"largest={largest}"]
        return [f"k={_axes_text(node.k)}", f"axis={_axes_text(node.axis)}", *order]
    return []


def _numbers(node: Expression) -> list[str]:
    """What a call gives by its place: all, or up to the last that isn't usual."""
    if isinstance(node, Chunk):
        return [str(node.count), str(node.index)]
    if isinstance(node, Slice):
        stop = "inf" if node.stop is None else str(node.stop)
        return [str(node.start), stop] + ([] if node.step == 1 else [str(node.step)])
    if not isinstance(node, Windows):
        return []
    given = [node.size, node.stride, node.dilation, node.before, node.after]
    if node.fill != 0 or str(node.fill) == "-0.0":
        return [*map(str, given), _constant_text(Constant(node.fill))[0]]
    while len(given) > 1 and given[-1] == (1, 1, 1, 0, 0)[len(given) - 1]:
        given.pop()
    return [str(n) for n in given]


def _apply_text(node: Apply) -> tuple[str, int]:
    parts = [_text(arg) for arg in node.args]
    if node.op == "neg":
        return "-" + _grouped(parts[0], 7), 7
    if node.op == "not":
        return "not " + _grouped(parts[0], 3), 3
    if node.op in _INFIX:
        spelling, strength = _INFIX[node.op]
        right_first = node.op == "pow"
        left_strength = strength + (right_first or node.op in ("eq", "ne", "lt", "le", "gt", "ge"))
        left = _grouped(parts[0], left_strength)
        right = _grouped(parts[1], 7 if right_first else strength + 1)
        return f"{left}{spelling}{right}", strength
    name = "where" if node.op == "select" else node.op
    return f"{name}({', '.join(text for text, _ in parts)})", _TIGHTEST


def _grouped(part: tuple[str, int], strength: int) -> str:
    text, own = part
    return text if own >= strength else f"({text})"


def _axes_text(axes: tuple[int, ...] | int | str | AttributeRef | AxisRange) -> str:
    if isinstance(axes, AxisRange):
        first = "" if axes.first == 0 else _axes_text(axes.first)
        return f"{first}:{'' if axes.stop is None else axes.stop}"
    if isinstance(axes, AttributeRef):
        return axes.name
    if isinstance(axes, int | str):
        return str(axes)
    return str(axes[0]) if len(axes) == 1 else "[" + ", ".join(map(str, axes)) + "]"


def _constant_text(node: Constant) -> tuple[str, int]:
    value = node.value
    if isinstance(value, bool):
        return str(value).lower(), _TIGHTEST
    if isinstance(value, str):
        return f'"{value}"', _TIGHTEST
    if value != value:
        return "nan", _TIGHTEST
    if value < 0 or str(float(value)) == "-0.0":
        return "(" + _number_text(value) + ")", _TIGHTEST
    return _number_text(value), _TIGHTEST


def _number_text(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    number = float(value)
    if number in _NAMED:
        return _NAMED[number]
    return (
        str(int(number))
        if number.is_integer() and abs(number) < 1e15 and str(number) != "-0.0"
        else repr(number)
    )
