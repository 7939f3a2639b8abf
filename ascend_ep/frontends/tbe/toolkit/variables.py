"""Run-time dimensions (tbe.var): they stand for the dims of the shapes that the operator is recorded with."""

from __future__ import annotations

from typing import Any

from ascend_ep.frontends.tbe.toolkit.failure import Inexpressible


class Variable:
    """tbe.var: a number that the real toolchain would know when the kernel is launched."""

    def __init__(
        self, name: str = "tmp", bound: object = None, dtype: str = "int32", addition: object = None
    ):
        self.name = name
        self.dtype = dtype if isinstance(dtype, str) else "int32"

    def _refuse(self, *_others: object) -> Any:
        raise Inexpressible(f"arithmetic with the run-time variable {self.name} has no expression")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse


def resolve_variables(shape: list[Any], given: list[int], position: int) -> list[int]:
    """A shape with dims of the input at this position, whose shape was `given`, in place of variables."""
    if not any(isinstance(d, Variable) for d in shape):
        return shape
    if len(given) == len(shape):
        return [g if isinstance(d, Variable) else d for d, g in zip(shape, given, strict=True)]
    if len(shape) == 1 and given:
        total = given[0]
        for d in given[1:]:
            total = total * d
        return [total]
    raise Inexpressible(f"the run-time variables of placeholder {position} fit no input's shape")
