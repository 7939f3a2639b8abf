"""Elementwise operations of formulas in C++: on tensors by ATen, and on numbers that attributes decide."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_ep.opdef.operations import OPERATIONS


@dataclass(frozen=True)
class Spelling:
    """tensor: on operands of which one is a tensor at least; number: on C++ numbers, truth values and texts.
    numbers: ATen's function takes a number in place of one of the tensors."""

    tensor: str
    number: str
    numbers: bool = False


def _infix(operator: str) -> Spelling:
    text = f"{{}} {operator} {{}}"
    return Spelling(text, text, numbers=True)


def _call(name: str, libm: str) -> Spelling:
    operands = ", ".join(["{}"] * len(OPERATIONS[name].takes))
    return Spelling(f"at::{name}({operands})", f"std::{libm}({operands})")


#: Of each operation: those of the C library have its name there, and ATen's is that of formulas.
SPELLINGS: dict[str, Spelling] = {
    **{name: _call(name, row.libm) for name, row in OPERATIONS.items() if row.libm},
    **{name: _call(name, name) for name in ("abs", "isnan", "isinf")},
    "pow": Spelling("at::pow({}, {})", "std::pow({}, {})", numbers=True),
    "neg": Spelling("-{}", "-{}"),
    "sign": Spelling("formula::sign_of({})", "formula::sign_of({})"),
    "rsqrt": Spelling("at::rsqrt({})", "1 / std::sqrt({})"),
    "sigmoid": Spelling("at::sigmoid({})", "1 / (1 + std::exp(-({})))"),
    "softplus": Spelling("formula::softplus_of({})", "formula::softplus_of({})"),
    "add": _infix("+"),
    "sub": _infix("-"),
    "mul": _infix("*"),
    "div": _infix("/"),
    "floordiv": Spelling("at::floor({} / {})", "std::floor({} / {})"),
    "mod": Spelling("at::remainder({}, {})", "formula::modulo({}, {})"),
    "min": Spelling("at::minimum({}, {})", "std::fmin({}, {})"),
    "max": Spelling("at::maximum({}, {})", "std::fmax({}, {})"),
    "eq": _infix("=="),
    "ne": _infix("!="),
    "lt": _infix("<"),
    "le": _infix("<="),
    "gt": _infix(">"),
    "ge": _infix(">="),
    "and": Spelling("at::logical_and({}, {})", "{} && {}"),
    "or": Spelling("at::logical_or({}, {})", "{} || {}"),
    "not": Spelling("at::logical_not({})", "!{}"),
    "select": Spelling("at::where({}, {}, {})", "{} ? {} : {}"),
}
