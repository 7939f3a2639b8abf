"""Expressions over single elements: what stands in a lambda of tvm.compute, before it becomes tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ascend_ep.frontends.tbe.toolkit.failure import DSL, DslError
from ascend_ep.frontends.tbe.toolkit.nodes import Node, node_of

FLOATS = ("float16", "float32", "bfloat16")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = (*FLOATS, *INTEGERS, "bool")


class Element:
    """A value for each combination of indices. `op` is read, index, number, reduce, cast or an operation."""

    __array_ufunc__ = None

    def __init__(self, op: str, args: Sequence[Element] = (), dtype: str = "", data: Any = None) -> None:
        self.op = op
        self.args = tuple(args)
        self.dtype = dtype
        self.data = data

    def astype(self, dtype: str) -> Element:
        """The element in another type."""
        if dtype not in DTYPES:
            raise DslError(DSL, f"there is no element type {str(dtype)[:40]!r}")
        return Element("cast", (self,), dtype, dtype)

    def __add__(self, other: Any) -> Element:
        return combined("add", self, other)

    def __radd__(self, other: Any) -> Element:
        return combined("add", other, self)

    def __sub__(self, other: Any) -> Element:
        return combined("sub", self, other)

    def __rsub__(self, other: Any) -> Element:
        return combined("sub", other, self)

    def __mul__(self, other: Any) -> Element:
        return combined("mul", self, other)

    def __rmul__(self, other: Any) -> Element:
        return combined("mul", other, self)

    def __truediv__(self, other: Any) -> Element:
        return _quotient(self, other)

    def __rtruediv__(self, other: Any) -> Element:
        return _quotient(other, self)

    def __floordiv__(self, other: Any) -> Element:
        return combined("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Element:
        return combined("floordiv", other, self)

    def __mod__(self, other: Any) -> Element:
        return combined("mod", self, other)

    def __pow__(self, other: Any) -> Element:
        return combined("pow", self, other)

    def __neg__(self) -> Element:
        if isinstance(self, Number):
            return Number(-self.number, self.dtype)
        return Element("neg", (self,), self.dtype)

    def __abs__(self) -> Element:
        return Element("abs", (self,), self.dtype)

    def __lt__(self, other: Any) -> Element:
        return combined("lt", self, other)

    def __le__(self, other: Any) -> Element:
        return combined("le", self, other)

    def __gt__(self, other: Any) -> Element:
        return combined("gt", self, other)

    def __ge__(self, other: Any) -> Element:
        return combined("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return combined("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return combined("ne", self, other)

    def __hash__(self) -> int:
        return id(self)

    def equal(self, other: Any) -> Element:
        """As tvm spells ==."""
        return combined("eq", self, other)

    def __bool__(self) -> bool:
        raise DslError(DSL, "an element has no truth value yet: use tvm.select, tvm.all or tvm.any")

    def walk(self) -> Iterator[Element]:
        """The element and everything it is computed from."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            element = stack.pop()
            if id(element) not in seen:
                seen.add(id(element))
                yield element
                stack += element.args


class Whole:
    """What may stand among elements without indices: a tensor."""

    def whole(self) -> Element:
        """All of it, broadcast."""
        raise NotImplementedError


class Number(Element):
    """tvm.const: a number with an element type."""

    def __init__(self, value: Any, dtype: str | None = None) -> None:
        self.number: Any = value.number if isinstance(value, Number) else value
        value = self.number
        if dtype is None:
            dtype = "float32" if isinstance(value, float) else "bool" if isinstance(value, bool) else "int32"
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise DslError(DSL, f"tvm.const has no element type {str(dtype)[:40]!r}")
        if node_of(value) is None:
            raise DslError(DSL, f"tvm.const takes a number, not a {type(value).__name__}")
        if dtype in INTEGERS and isinstance(value, float):
            self.number = int(value)
        super().__init__("number", (), dtype)

    @property
    def value(self) -> Any:
        return self.number

    def __bool__(self) -> bool:
        return bool(self.number)

    def __float__(self) -> float:
        return float(self.number)

    def __int__(self) -> int:
        return int(self.number)

    @property
    def node(self) -> Node:
        node = node_of(self.number)
        assert node is not None, "the constructor takes numbers only"
        return node


class IndexVariable(Element):
    """The position along one dimension of the result, or along a dimension that is reduced away."""

    def __init__(self, extent: int, name: str, reduced: bool = False) -> None:
        super().__init__("index", (), "int32")
        self.extent = extent
        self.name = name
        self.reduced = reduced

    @property
    def var(self) -> IndexVariable:
        return self


def element_of(value: Any) -> Element:
    """A number, a tensor or an element as an element."""
    if isinstance(value, Element):
        return value
    return value.whole() if isinstance(value, Whole) else Number(value)


def combined(op: str, *values: Any) -> Element:
    """An operation on elements and numbers; plain numbers take the element's type."""
    elements = [element_of(v) for v in values]
    if all(isinstance(e, Number) for e in elements) and op in _FOLDED:
        first, second = (e.number for e in elements if isinstance(e, Number))
        result = _FOLDED[op](first, second)
        typed = next((v.dtype for v in values if isinstance(v, Number)), None)
        return Number(result, "bool" if isinstance(result, bool) else typed)
    comparing = op in ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "isnan")
    typed_by = next((e for e in elements if not isinstance(e, Number)), elements[0])
    return Element(op, elements, "bool" if comparing else typed_by.dtype)


_FOLDED: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "pow": operator.pow,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
    "ne": operator.ne,
}  # fmt: skip


def _quotient(a: Any, b: Any) -> Element:
    """A quotient of integers is the integer below it, as in tvm."""
    element = combined("div", a, b)
    if element.dtype not in FLOATS and not isinstance(element, Number):
        return Element("trunc", (element,), element.dtype)
    return element
