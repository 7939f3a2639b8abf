"""Instruction selection: an expression program in terms of the vector unit's float32 instructions.

Steps whose result float32 can't hold well (expm1, log1p, tanh, sigmoid) are written so that no digits cancel.
Reciprocal and Rsqrt of the vector unit are approximations: division is Div, 1/sqrt is Sqrt and Div.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import (
    Apply,
    Cast,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    Program,
    Reduce,
)
from ascend_ep.opdef.operations import OPERATIONS

from .values import Value, Values

#: expression operation -> function of the high-level library that needs a scratch buffer
LIBRARY = {name: o.ascend_c for name, o in OPERATIONS.items() if o.ascend_c}
_ROUNDINGS = {"floor": "CAST_FLOOR", "ceil": "CAST_CEIL", "round": "CAST_RINT", "trunc": "CAST_TRUNC"}
_PLAIN = {"add", "sub", "mul", "div", "max", "min", "exp", "abs", "sqrt"}
_COMPARES = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
#: the least and the largest number of integer types, as float32 has them
_RANGES = {
    dtypes.INT8: (-128.0, 127.0),
    dtypes.UINT8: (0.0, 255.0),
    dtypes.INT16: (-32768.0, 32767.0),
    dtypes.UINT16: (0.0, 65535.0),
    dtypes.INT32: (-(2.0**31), 2.0**31),
    dtypes.UINT32: (0.0, 2.0**32),
    dtypes.INT64: (-(2.0**63), 2.0**63),
    dtypes.UINT64: (0.0, 2.0**64),
}
_HELD = {dtypes.FLOAT16: "half", dtypes.BFLOAT16: "bfloat16_t"}


@dataclass(frozen=True)
class Selected:
    """The outputs' values, how many trailing axes reductions fold (0: there are none), and what is read."""

    outputs: tuple[tuple[str, Value], ...]
    folded_axes: int
    uses_index: bool


def select_instructions(program: Program, scalars: dict[str, str]) -> Selected:
    """`program` is specialised; `scalars` maps locals that stand for attributes to their C++ text.

    Raises NotGenerated for what this generator doesn't cover.
    """
    selector = _Selector(scalars)
    for name, value in program.lets:
        selector.locals[name] = selector.value(value)
    outputs = tuple((name, selector.output(value)) for name, value in program.outputs)
    return Selected(outputs, selector.folded_axes, selector.uses_index)


def select_fold(program: Program, op: str, scalars: dict[str, str]) -> Selected:
    """What a fold of the program's single output computes: that value for every element, and the fold."""
    selector = _Selector(scalars)
    for name, value in program.lets:
        selector.locals[name] = selector.value(value)
    ((name, node),) = program.outputs
    folded = selector.values.make(f"fold_{op}", (selector.full(node),), "row")
    return Selected(((name, folded),), selector.folded_axes, selector.uses_index)


class _Selector:
    def __init__(self, scalars: dict[str, str]) -> None:
        self.values = Values()
        self.locals: dict[str, Value] = {n: self.values.scalar(t) for n, t in scalars.items()}
        self.folded_axes = 0
        self.uses_index = False

    def value(self, node: Expression) -> Value:
        if isinstance(node, Constant):
            if isinstance(node.value, str):
                raise NotGenerated("a text is no tensor")
            return self.values.constant(float(node.value))
        if isinstance(node, Input):
            return self.values.make("input", (), "full", node.name)
        if isinstance(node, Local):
            return self.locals[node.name]
        if isinstance(node, Apply):
            return self.apply(node)
        if isinstance(node, Cast):
            return self.cast(self.number(self.value(node.arg)), node.dtype)
        if isinstance(node, Reduce):
            return self.reduce(node)
        if isinstance(node, Index):
            return self.index(node)
        raise NotGenerated(f"{type(node).__name__} has no Ascend C")

    def output(self, node: Expression) -> Value:
        """A number of each element or of each row: what depends on no input is one of each element."""
        value = self.number(self.value(node))
        return value if value.spread == "row" and value.level > 0 else self.filled(value)

    def full(self, node: Expression) -> Value:
        """A number of each element."""
        return self.filled(self.number(self.value(node)))

    def filled(self, value: Value) -> Value:
        return value if value.spread == "full" else self.values.full(value)

    # ---- short forms -----------------------------------------------------------------------

    def op(self, op: str, *args: Value | float) -> Value:
        """An instruction; numbers are constants, commutative ones have the scalar second."""
        operands = [self.values.constant(a) if isinstance(a, int | float) else a for a in args]
        if all(a.spread == "scalar" for a in operands) and op in ("add", "sub", "mul", "div"):
            sign = {"add": "+", "sub": "-", "mul": "*", "div": "/"}[op]
            return self.values.scalar(f"({operands[0].text} {sign} {operands[1].text})")
        order = ("scalar", "row", "full")
        if op in ("add", "mul", "max", "min") and order.index(operands[0].spread) < order.index(
            operands[1].spread
        ):
            operands.reverse()
        return self.values.instruction(op, operands)

    def compare(self, mode: str, a: Value, b: Value | float) -> Value:
        right = self.values.constant(b) if isinstance(b, int | float) else b
        if a.spread != "full" and right.spread == "full":
            flipped = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(mode, mode)
            a, right, mode = right, a, flipped
        return self.values.instruction("compare", (a, right), mode, True)

    def choose(self, mask: Value, a: Value | float, b: Value | float) -> Value:
        left, right = (self.values.constant(v) if isinstance(v, int | float) else v for v in (a, b))
        return self.values.instruction("select", (mask, left, right))

    def library(self, name: str, *args: Value) -> Value:
        return self.values.instruction("library", args, name)

    def number(self, value: Value) -> Value:
        return self.choose(value, 1.0, 0.0) if value.is_mask else value

    def truth(self, value: Value) -> Value:
        return value if value.is_mask else self.compare("NE", value, 0.0)

    # ---- operations ------------------------------------------------------------------------

    def apply(self, node: Apply) -> Value:
        kinds = OPERATIONS[node.op].takes
        args = [
            self.truth(a) if kind == "bool" else self.number(a)
            for a, kind in zip(map(self.value, node.args), kinds, strict=True)
        ]
        if node.op in _PLAIN:
            return self.op(node.op, *args)
        if node.op in _COMPARES:
            return self.compare(_COMPARES[node.op], args[0], args[1])
        if node.op in ("and", "or", "not"):
            return self.values.instruction(node.op, args, "", True)
        if node.op in _ROUNDINGS:
            return self.round(args[0], _ROUNDINGS[node.op])
        if node.op in LIBRARY:
            return self.library(LIBRARY[node.op], args[0])
        if node.op == "select":
            return self.choose(*args)
        rule: Callable[..., Value] | None = getattr(self, "_" + node.op, None)
        if rule is None:
            raise NotGenerated(f"{node.op} has no Ascend C")
        return rule(*args)

    def round(self, x: Value, mode: str) -> Value:
        return self.values.instruction("round", (x,), mode)

    def _neg(self, x: Value) -> Value:
        return self.op("mul", x, -1.0)

    def _sign(self, x: Value) -> Value:
        return self.choose(self.compare("GT", x, 0.0), 1.0, self.choose(self.compare("LT", x, 0.0), -1.0, x))

    def _log(self, x: Value) -> Value:
        return self.values.instruction("ln", (x,))

    def _log2(self, x: Value) -> Value:
        return self.op("mul", self._log(x), 1 / math.log(2))

    def _log10(self, x: Value) -> Value:
        return self.op("mul", self._log(x), 1 / math.log(10))

    def _rsqrt(self, x: Value) -> Value:
        return self.op("div", 1.0, self.op("sqrt", x))

    def _expm1(self, x: Value) -> Value:
        """(u - 1) x/log(u) for u = e^x, whose rounding errors cancel; Kahan."""
        u = self.op("exp", x)
        less = self.op("add", u, -1.0)
        result = self.op("mul", less, self.op("div", x, self._log(u)))
        result = self.choose(self.compare("EQ", u, 1.0), x, result)
        edge = self.values.instruction(
            "or", (self.compare("EQ", less, -1.0), self.compare("EQ", u, math.inf)), "", True
        )
        return self.choose(edge, less, result)

    def _log1p(self, x: Value) -> Value:
        """x log(u)/(u - 1) for u = 1 + x; Kahan."""
        u = self.op("add", x, 1.0)
        result = self.op("mul", self._log(u), self.op("div", x, self.op("add", u, -1.0)))
        result = self.choose(self.compare("EQ", u, 1.0), x, result)
        return self.choose(self.compare("EQ", u, math.inf), u, result)

    def _sigmoid(self, x: Value) -> Value:
        return self.op("div", 1.0, self.op("add", self.op("exp", self._neg(x)), 1.0))

    def _softplus(self, x: Value) -> Value:
        return self.op(
            "add", self.op("max", x, 0.0), self._log1p(self.op("exp", self._neg(self.op("abs", x))))
        )

    def _tanh(self, x: Value) -> Value:
        """e/(e + 2) for e = expm1(2|x|), with the sign of x; from |x| = 16 on it is 1."""
        e = self._expm1(self.op("mul", self.op("min", self.op("abs", x), 16.0), 2.0))
        size = self.op("div", e, self.op("add", e, 2.0))
        return self.choose(self.compare("LT", x, 0.0), self._neg(size), size)

    def _pow(self, a: Value, b: Value) -> Value:
        if b.op == "scalar" and b.text == "2.0f":
            return self.op("mul", a, a)
        return self.library("Power", a, b)

    def _floordiv(self, a: Value, b: Value) -> Value:
        return self.round(self.op("div", a, b), "CAST_FLOOR")

    def _mod(self, a: Value, b: Value) -> Value:
        """The remainder of the truncated quotient, moved by b when its sign isn't b's."""
        rest = self.library("Fmod", a, b)
        wrong = self.compare("LT", self.op("mul", self._sign(rest), self._sign(b)), 0.0)
        return self.choose(wrong, self.op("add", rest, b), rest)

    def _atan2(self, a: Value, b: Value) -> Value:
        """atan(|a|/|b|), mirrored into the quadrant that the signs, of zeros too, name."""
        a_size, b_size = self.op("abs", a), self.op("abs", b)
        ratio = self.choose(self.compare("EQ", a_size, b_size), 1.0, self.op("div", a_size, b_size))
        ratio = self.choose(self.compare("EQ", a, 0.0), self.op("mul", a_size, 0.0), ratio)
        unclear = self.values.instruction(
            "or", (self.compare("NE", a, a), self.compare("NE", b, b)), "", True
        )
        angle = self.library("Atan", ratio)
        angle = self.choose(self._negative(b), self.op("sub", math.pi, angle), angle)
        angle = self.choose(self._negative(a), self._neg(angle), angle)
        return self.choose(unclear, math.nan, angle)

    def _negative(self, x: Value) -> Value:
        below = self.compare("LT", x, 0.0)
        inverse = self.compare("LT", self.op("div", 1.0, x), 0.0)
        return self.values.instruction("or", (below, inverse), "", True)

    def _isnan(self, x: Value) -> Value:
        return self.compare("NE", x, x)

    def _isinf(self, x: Value) -> Value:
        return self.compare("EQ", self.op("abs", x), math.inf)

    # ---- casts, reductions, positions --------------------------------------------------------

    def cast(self, x: Value, dtype: int) -> Value:
        if dtype in (dtypes.FLOAT32, dtypes.FLOAT64):
            return x
        if dtype == dtypes.BOOL:
            return self.number(self.truth(x))
        if dtype in _HELD:
            return self.values.instruction(
                "widen", (self.values.instruction("narrow", (x,), _HELD[dtype]),), _HELD[dtype]
            )
        if dtype in _RANGES:
            low, high = _RANGES[dtype]
            if low == 0:  # NaN and -0 fail the comparison
                whole = self.round(self.op("min", x, high), "CAST_TRUNC")
                return self.choose(self.compare("GT", whole, 0.0), whole, 0.0)
            whole = self.round(self.op("min", self.op("max", x, low), high), "CAST_TRUNC")
            whole = self.op("add", whole, 0.0)  # no whole number is -0
            return self.choose(self.compare("EQ", x, x), whole, 0.0)
        raise NotGenerated(f"the vector unit has no {dtypes.name(dtype)} arithmetic")

    def reduce(self, node: Reduce) -> Value:
        arg = self.value(node.arg)
        arg = self.number(self.truth(arg) if node.op in ("any", "all") else arg)
        if not isinstance(node.axes, tuple):
            raise NotGenerated("the axes of a reduction are no numbers")
        count = len(node.axes)
        if sorted(node.axes) != list(range(-count, 0)) or not count:
            raise NotGenerated("a reduction is over other axes than the last ones, counted from the end")
        if arg.spread != "full":
            raise NotGenerated("a reduction of what has no element per element")
        if self.folded_axes not in (0, count):
            raise NotGenerated("reductions are over different numbers of axes")
        self.folded_axes = count
        size = self.values.scalar("float(cols_)")
        if node.op in ("mean", "var"):
            mean = self.op("div", self.fold("sum", arg, node.keepdims or node.op == "var"), size)
            if node.op == "mean":
                return mean
            off = self.op("sub", arg, mean)
            return self.op("div", self.fold("sum", self.op("mul", off, off), node.keepdims), size)
        if node.op == "any":
            return self.compare("GT", self.fold("max", arg, node.keepdims), 0.0)
        if node.op == "all":
            return self.compare("GT", self.fold("min", arg, node.keepdims), 0.0)
        if node.op == "logsumexp" and node.keepdims:
            most = self.fold("max", arg, True)
            most = self.choose(self.compare("EQ", self.op("abs", most), math.inf), 0.0, most)
            total = self.fold("sum", self.op("exp", self.op("sub", arg, most)), True)
            return self.op("add", self._log(total), most)
        if node.op not in ("sum", "prod", "max", "min"):
            raise NotGenerated(f"the reduction {node.op} has no Ascend C")
        return self.fold(node.op, arg, node.keepdims)

    def fold(self, op: str, arg: Value, keepdims: bool) -> Value:
        if op == "prod":  # folding overwrites its operand
            arg = self.op("mul", arg, 1.0)
        return self.values.make(f"fold_{op}", (arg,), "row", dropped=not keepdims)

    def index(self, node: Index) -> Value:
        if node.axis != -1 or self.value(node.like).spread != "full":
            raise NotGenerated("positions are counted along the last axis of a full tensor only")
        self.uses_index = True
        if node.size:
            return self.values.scalar("float(cols_)")
        return self.values.make("index", (), "full")
