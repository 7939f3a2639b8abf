"""One step of drawing a program for every feature of the expression form."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from drawing import MAX_RANK, Drawing, Shape, Typed, joined

from ascend_ep.codegen.graph import ELEMENTS
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import (
    REDUCTIONS,
    Apply,
    Cast,
    Constant,
    Index,
    SumTo,
    TopK,
    Unsqueeze,
)
from ascend_ep.opdef.operations import OPERATIONS

#: Adds one node, or some that belong together; does nothing when no value of the pool suits it.
Step = Callable[[Drawing], object]

_BOUNDED = ("tanh", "sin", "atan", "erf", "sigmoid")
_CONSTANTS = (0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0, 0.1, -2.5, 100.0, 1e-3, 7.0, 1e-40, 3e38, float("inf"))
#: What the last operand of an operation is usually made by, so that most results are finite.
_BOUND_BEFORE = frozenset({"exp", "expm1", "sinh", "cosh", "tan", "asin", "acos", "atanh", "softplus", "pow"})
_POSITIVE_BEFORE = frozenset({"log", "log2", "log10", "sqrt", "rsqrt", "div", "floordiv", "mod"})


def operand(d: Drawing) -> Typed:
    """A number of the pool, which always has an input."""
    value = d.pick()
    assert value is not None
    return value


def partner(d: Drawing, value: Typed) -> Typed:
    """A number to go with `value`: of a shape that broadcasts with it, a constant or an attribute."""
    if d.often(1):
        return Typed(Constant(d.choose(_CONSTANTS)), "number", ())
    other = d.pick(fits=lambda s: joined(s, value.shape) is not None and len(s) <= MAX_RANK)
    return other or value


def truth(d: Drawing, shape: Shape | None = None) -> Typed:
    """A truth value of the pool that broadcasts with `shape`, or a new comparison."""

    def fits(other: Shape) -> bool:
        return shape is None or joined(other, shape) is not None

    found = d.pick("bool", fits)
    if found is not None and d.often(2):
        return found
    value = d.pick(fits=fits) or Typed(Constant(0.5), "number", ())
    compared = d.apply(d.choose(("lt", "le", "gt", "ge")), value, partner(d, value))
    return compared if compared is not None and fits(compared.shape) else truth(d, shape)


def bounded(d: Drawing, value: Typed) -> Typed:
    return d.apply(d.choose(_BOUNDED), value) or value


def positive(d: Drawing, value: Typed) -> Typed:
    size = d.apply("abs", value)
    assert size is not None
    return d.apply("add", size, 0.5) or size


def elementwise(op: str, d: Drawing) -> None:
    """An operation on numbers of the pool or truth values."""
    if op == "select":
        a = operand(d)
        b = partner(d, a)
        d.apply("select", truth(d, joined(a.shape, b.shape)), a, b)
        return
    takes = OPERATIONS[op].takes
    if takes[0] == "bool":
        first = truth(d)
        if len(takes) == 1:
            d.apply(op, first)
        else:
            second = d.pick("bool", lambda s: joined(s, first.shape) is not None)
            d.apply(op, first, second if second is not None and d.often(2) else truth(d, first.shape))
        return
    first = operand(d)
    args = [first, *([partner(d, first)] if len(takes) == 2 else [])]
    if d.often() and isinstance(args[-1].node, Constant) is False:
        if op in _BOUND_BEFORE:
            args[-1] = bounded(d, args[-1])
        if op in _POSITIVE_BEFORE:
            args[-1] = positive(d, args[-1])
    if d.often():
        if op in ("pow", "acosh"):
            args[0] = positive(d, args[0])
        if op == "log1p":
            args[0] = d.apply("abs", args[0]) or args[0]
    d.apply(op, *args)


def some_axes(d: Drawing, value: Typed) -> list[int]:
    """Axes of a value in ascending order: the last, all, or any."""
    rank = len(value.shape)
    kind = d.choose(("last", "last", "all", "any", "any"))
    if kind == "last":
        return [rank - 1]
    found = [i for i in range(rank) if kind == "all" or d.often(2)]
    return found or [d.choose(range(rank))]


def reduction(op: str, d: Drawing) -> None:
    """A reduction, its axes counted from either end, named by an attribute or all."""
    number = op not in ("any", "all")
    value = d.pick(fits=lambda s: len(s) > 0)
    if value is None:
        return
    if not number:
        found = truth(d, value.shape)
        value = found if found.shape else d.apply("gt", value, 0.0) or value
    if op == "prod" and d.often():
        value = d.apply("add", bounded(d, value), 0.5) or value
    single = op in ("argmax", "argmin")
    axes = [d.choose(range(len(value.shape)))] if single else some_axes(d, value)
    keepdims = d.often()
    rank = len(value.shape)
    written: object = tuple(a - rank if d.often(2) else a for a in axes)
    if axes == [rank - 1] and d.often(1):
        written = d.attribute("dim", "int", 0, -1)
    elif axes == list(range(rank)) and not single and d.often(2):
        written = "all"
    d.reduced(op, value, axes, keepdims, written)


def cast(dtype: int, d: Drawing) -> None:
    value = operand(d)
    d.add(Cast(dtype, value.node), "number", value.shape)


def position(size: bool, d: Drawing) -> None:
    value = d.pick(fits=lambda s: len(s) > 0)
    if value is None:
        return
    at = d.choose(range(len(value.shape)))
    shape = () if size else tuple(s if i == at else "1" for i, s in enumerate(value.shape))
    d.add(Index(value.node, at - len(value.shape) if d.often(2) else at, size), "number", shape)


def top(indices: bool, d: Drawing) -> None:
    value = d.pick(fits=lambda s: any(not dim.isdigit() for dim in s))
    if value is None:
        return
    at = d.choose([i for i, dim in enumerate(value.shape) if not dim.isdigit()])
    k = d.choose((1, 2, 3))
    written: object = k
    if d.often(1):
        written = d.attribute("k", "int", 1, k)
        k = d.value_of("k")
    largest: object = d.often(2)
    if d.often(1):
        largest = d.attribute("flag", "bool", True, d.choose((None, False)))
    d.require(value.shape[at], k)
    shape = tuple(str(k) if i == at else dim for i, dim in enumerate(value.shape))
    axis = at - len(value.shape) if d.often(2) else at
    d.add(TopK(value.node, written, axis, largest, indices), "number", shape)  # type: ignore[arg-type]


def unsqueezed(d: Drawing) -> None:
    value = d.pick(fits=lambda s: len(s) < MAX_RANK)
    if value is None:
        return
    rank = len(value.shape) + 1
    at = d.choose(range(rank))
    shape = (*value.shape[:at], "1", *value.shape[at:])
    d.add(Unsqueeze(value.node, (at - rank if d.often(2) else at,)), "number", shape)


def summed_to(d: Drawing) -> None:
    value = operand(d)

    def fits(shape: tuple[str, ...]) -> bool:
        pairs = zip(reversed(value.shape), reversed(shape), strict=False)
        return all(want in ("1", have) or have == "1" for have, want in pairs)

    like = d.pick(fits=fits)
    if like is not None:
        d.add(SumTo(value.node, like.node), "number", like.shape)


def softmax(log: bool, d: Drawing) -> None:
    value = d.pick(fits=lambda s: len(s) > 0)
    if value is None or d.room < 6:
        return
    axes = some_axes(d, value)
    below = d.apply("sub", value, d.reduced("max", value, axes, True))
    assert below is not None
    powers = d.apply("exp", below)
    assert powers is not None
    total = d.reduced("sum", powers, axes, True)
    if log:
        logarithm = d.apply("log", total)
        assert logarithm is not None
        d.apply("sub", below, logarithm)
    else:
        d.apply("div", powers, total)
    d.tags.add("log_softmax" if log else "softmax")


def normalisation(centred: bool, d: Drawing) -> None:
    value = d.pick(fits=lambda s: len(s) > 0)
    if value is None or d.room < 7:
        return
    axes = some_axes(d, value)
    if centred:
        value = d.apply("sub", value, d.reduced("mean", value, axes, True)) or value
    square = d.apply("mul", value, value)
    assert square is not None
    spread = d.apply("add", d.reduced("mean", square, axes, True), 1e-5)
    assert spread is not None
    root = d.apply("sqrt", spread)
    assert root is not None
    d.apply("div", value, root)
    d.tags.add("layer_norm" if centred else "rms_norm")


def attribute(kind: str, d: Drawing) -> None:
    """An operation with an attribute of this type."""
    value = operand(d)
    if kind in ("float", "int"):
        default, given = (0.75, -1.25) if kind == "float" else (2, 3)
        node = d.attribute("alpha" if kind == "float" else "n", kind, default, d.choose((None, given)))
        d.apply(d.choose(("mul", "add", "sub", "max")), value, Typed(node, "number", ()))
        return
    other = d.pick(fits=lambda s: s == value.shape)
    assert other is not None
    if kind == "bool":
        condition = d.attribute("flag", "bool", True, d.choose((None, False)))
        d.add(Apply("select", (condition, value.node, other.node)), "number", value.shape)
        return
    name = d.attribute("mode", "string", "first", d.choose((None, "second")))
    test = Apply(d.choose(("eq", "ne")), (name, Constant("first")))
    d.add(Apply("select", (test, value.node, other.node)), "number", value.shape)


#: Every kind of step by its name. Operations, reductions and element types come from their tables.
STEPS: dict[str, Step] = {
    **{f"operation {op}": partial(elementwise, op) for op in OPERATIONS},
    **{f"reduction {op}": partial(reduction, op) for op in REDUCTIONS},
    **{f"cast {dtypes.name(t)}": partial(cast, t) for t in ELEMENTS},
    "index": partial(position, False),
    "size": partial(position, True),
    "topk": partial(top, False),
    "topk_indices": partial(top, True),
    "unsqueeze": unsqueezed,
    "sum_to": summed_to,
    "softmax": partial(softmax, False),
    "log_softmax": partial(softmax, True),
    "layer_norm": partial(normalisation, True),
    "rms_norm": partial(normalisation, False),
    **{f"{kind} attribute": partial(attribute, kind) for kind in ("float", "int", "bool", "string")},
}
