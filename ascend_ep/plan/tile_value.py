"""The operations and limits of the "elementwise" kernel, and handles of the expressions that it computes.

A value's type is the ONNX number of what it holds: float16 and bfloat16 inputs count as float32; narrow
integers are wrapped after every operation that can leave their range.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.dtypes import (
    BFLOAT16,
    BOOL,
    FLOAT8_LARGEST,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    SUB_BYTE,
    UINT32,
    UINT64,
)
from ascend_ep.opdef.expression import Expression, Number
from ascend_ep.runtime._rt import lib

#: primitive -> opcode, e.g. "add" -> ASC_EW_ADD
OPCODES: dict[str, int] = {
    name.removeprefix("ASC_EW_").lower(): getattr(lib, name)
    for name in dir(lib)
    if name.startswith("ASC_EW_") and not name.endswith(("COUNT", "INTS")) and "_MAX_" not in name
}
COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
STEP_INTS: int = lib.ASC_EW_STEP_INTS
MAX_REGISTERS: int = lib.ASC_EW_MAX_REGISTERS
MAX_STEPS: int = lib.ASC_EW_MAX_STEPS
MAX_INPUTS: int = lib.ASC_EW_MAX_INPUTS
MAX_OUTPUTS: int = lib.ASC_EW_MAX_OUTPUTS


class ProgramError(Exception):
    """The kernel can't run this program; the text is one sentence that says why."""


def computed_dtype(dtype: int) -> int:
    """The type that arithmetic on `dtype` happens in: half floats and float8 compute in float32, integers of
    less than a byte in int32."""
    if dtype in SUB_BYTE:
        return INT32
    return FLOAT32 if dtype in (FLOAT16, BFLOAT16) or dtype in FLOAT8_LARGEST else dtype


def width(dtype: int) -> int:
    """Bytes of a register element that holds `dtype`."""
    return {FLOAT64: 8, BOOL: 1}.get(dtype, 8 if dtype in (INT64, UINT32, UINT64) else 4)


class Calls(Protocol):
    """The program that a value belongs to: the operators below are its calls."""

    def call(self, op: str, *args: Value | float) -> Value: ...


@dataclass(frozen=True, eq=False)
class Value:
    """An expression of a program, with its element type. Equal ones of a program are one."""

    program: Calls = field(repr=False)
    node: Expression
    dtype: int

    @property
    def number(self) -> Dim | float | None:
        """The number everywhere, of a constant."""
        return self.node.value if isinstance(self.node, Number) else None

    def __add__(self, other: Value | float) -> Value:
        return self.program.call("add", self, other)

    def __radd__(self, other: float) -> Value:
        return self.program.call("add", other, self)

    def __sub__(self, other: Value | float) -> Value:
        return self.program.call("sub", self, other)

    def __rsub__(self, other: float) -> Value:
        return self.program.call("sub", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return self.program.call("mul", self, other)

    def __rmul__(self, other: float) -> Value:
        return self.program.call("mul", other, self)

    def __truediv__(self, other: Value | float) -> Value:
        return self.program.call("div", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self.program.call("div", other, self)

    def __neg__(self) -> Value:
        return self.program.call("neg", self)
