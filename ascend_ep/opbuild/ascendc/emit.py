"""Vector instructions as text, with a barrier wherever one reads or replaces what the last ones wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .passes import Registers
from .values import Value

_BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min"}
_UNARY = {"exp": "Exp", "abs": "Abs", "sqrt": "Sqrt", "ln": "Ln"}
_WITH_SCALAR = {"add": "Adds", "sub": "Adds", "mul": "Muls", "max": "Maxs", "min": "Mins"}


class Instructions:
    """The text of one sequence. `count`: the C++ name of the number of lanes; `prefix`: of the registers."""

    def __init__(self, registers: Registers, count: str, prefix: str) -> None:
        self.registers = registers
        self.count = count
        self.prefix = prefix
        self.pending: set[str] = set()

    def declarations(self, length: str) -> Iterator[str]:
        """`length`: elements of a register."""
        p = self.prefix
        for i in range(self.registers.floats):
            yield f"LocalTensor<float> {p}{i} = {p}Buf_.Get<float>()[{i} * {length}];"
        for i in range(self.registers.masks):
            yield f"LocalTensor<uint8_t> {p}m{i} = {p}MaskBuf_.Get<uint8_t>()[{i} * {_mask_bytes(length)}];"

    def name(self, value: Value) -> str:
        if value.op == "input":
            return f"{value.text}Tile_"
        register = self.registers.registers[value]
        return f"{self.prefix}m{register}" if value.is_mask else f"{self.prefix}{register}"

    def guarded(self, names: list[str], statement: str) -> Iterator[str]:
        """`statement`, after a barrier when it touches what is under way; names[0] is written."""
        if self.pending & set(names):
            yield "PipeBarrier<PIPE_V>();"
            self.pending.clear()
        self.pending.update(names)
        yield statement

    def settle(self) -> Iterator[str]:
        """A barrier, when anything is under way."""
        if self.pending:
            yield "PipeBarrier<PIPE_V>();"
            self.pending.clear()

    def value(self, value: Value) -> Iterator[str]:
        names = [self.name(value), *(self.name(a) for a in value.args if a.spread != "scalar")]
        if value.op == "library":
            names.append("scratchBuf_")
        yield from self.guarded(names, self._statement(value) + ";")

    def _statement(self, v: Value) -> str:
        d, n = self.name(v), self.count
        args = [scalar_text(a) if a.spread == "scalar" else self.name(a) for a in v.args]
        has_scalar = any(a.spread == "scalar" for a in v.args)
        if v.op == "fill":
            return f"Duplicate({d}, {args[0]}, {n})"
        if v.op == "index":
            return f"ArithProgression({d}, float(col), 1.0f, int32_t({n}))"
        if v.op in _UNARY:
            return f"{_UNARY[v.op]}({d}, {args[0]}, {n})"
        if v.op in _BINARY and has_scalar:
            sign = "-" if v.op == "sub" else ""
            return f"{_WITH_SCALAR[v.op]}({d}, {args[0]}, {sign}{args[1]}, {n})"
        if v.op in _BINARY:
            return f"{_BINARY[v.op]}({d}, {args[0]}, {args[1]}, {n})"
        rule: Callable[[str, list[str], Value, bool], str] = getattr(self, "_" + v.op)
        return rule(d, args, v, has_scalar)

    def _compare(self, d: str, args: list[str], v: Value, has_scalar: bool) -> str:
        return f"Compare{'Scalar' if has_scalar else ''}({d}, {args[0]}, {args[1]}, CMPMODE::{v.text}, {self.count})"

    def _select(self, d: str, args: list[str], v: Value, has_scalar: bool) -> str:
        mode = "VSEL_TENSOR_SCALAR_MODE" if has_scalar else "VSEL_TENSOR_TENSOR_MODE"
        return f"Select({d}, {args[0]}, {args[1]}, {args[2]}, SELMODE::{mode}, {self.count})"

    def _bits(self, name: str, d: str, args: list[str]) -> str:
        views = ", ".join(f"{a}.ReinterpretCast<uint16_t>()" for a in (d, *args))
        return f"{name}({views}, {self.count} / 16)"

    def _and(self, d: str, args: list[str], v: Value, has_scalar: bool) -> str:
        return self._bits("And", d, args)

    def _or(self, d: str, args: list[str], v: Value, has_scalar: bool) -> str:
        return self._bits("Or", d, args)

    def _not(self, d: str, args: list[str], v: Value, has_scalar: bool) -> str:
        return self._bits("Not", d, args)

    def _round(self, d: str, args: list[str], v: Value, has_scalar: bool) -> str:
        return f"Cast({d}, {args[0]}, RoundMode::{v.text}, {self.count})"

    def _narrow(self, d: str, args: list[str], v: Value, has_scalar: bool) -> str:
        return f"Cast({d}.ReinterpretCast<{v.text}>(), {args[0]}, RoundMode::CAST_RINT, {self.count})"

    def _widen(self, d: str, args: list[str], v: Value, has_scalar: bool) -> str:
        return f"Cast({d}, {args[0]}.ReinterpretCast<{v.text}>(), RoundMode::CAST_NONE, {self.count})"

    def _library(self, d: str, args: list[str], v: Value, has_scalar: bool) -> str:
        return f"{v.text}({d}, {', '.join(args)}, scratchBuf_.Get<uint8_t>(), {self.count})"


def scalar_text(value: Value) -> str:
    """A scalar operand: its text, or the member that holds a row's number."""
    return value.text if value.op == "scalar" else row_member(value.args[0])


def row_member(row: Value) -> str:
    return f"row{row.number}_"


def _mask_bytes(length: str) -> str:
    return "32" if length == "64" else f"({length} / 8)"
