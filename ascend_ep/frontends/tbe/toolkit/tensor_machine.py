"""The package tvm (te.tvm, tbe.tvm): placeholders, computes, and functions of single elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ascend_ep.frontends.tbe.toolkit import building
from ascend_ep.frontends.tbe.toolkit.casts import cast
from ascend_ep.frontends.tbe.toolkit.compute import compute, tag_scope
from ascend_ep.frontends.tbe.toolkit.elements import (
    Element,
    IndexVariable,
    Number,
    combined,
    element_of,
)
from ascend_ep.frontends.tbe.toolkit.failure import DSL, DslError, inexpressible
from ascend_ep.frontends.tbe.toolkit.tensors import Operation, Tensor, elementwise, placeholder
from ascend_ep.frontends.tbe.toolkit.variables import Variable


def const(value: Any, dtype: str | None = None) -> Number:
    """A number with an element type."""
    return Number(value, dtype)


def select(condition: Any, true_value: Any, false_value: Any) -> Any:
    """One of two elements. Whole tensors are taken element by element."""
    parts = (condition, true_value, false_value)
    if any(isinstance(p, Tensor) for p in parts) and not any(_is_element(p) for p in parts):
        kinds = [p.dtype for p in (true_value, false_value) if isinstance(p, Tensor)]
        return elementwise("select", kinds[0] if kinds else "float32", *parts)
    a, b = element_of(true_value), element_of(false_value)
    typed_by = b if isinstance(a, Number) else a
    return Element("select", (element_of(condition), a, b), typed_by.dtype)


def _is_element(value: object) -> bool:
    return isinstance(value, Element) and not isinstance(value, Number)


def reduce_axis(domain: Sequence[Any], name: str = "rv", **_ignored: object) -> IndexVariable:
    """An index to reduce over, from 0 to an extent."""
    low, extent = domain[0], domain[1]
    low = low.number if isinstance(low, Number) else low
    extent = extent.number if isinstance(extent, Number) else extent
    if not isinstance(low, int) or not isinstance(extent, int) or low != 0 or extent < 1:
        raise DslError(DSL, "reduce_axis takes (0, extent)")
    return IndexVariable(extent, str(name), reduced=True)


def _reducer(name: str, op: str, binary: bool) -> Callable[..., Any]:
    def reduce(expr: Any, axis: Any = None, *others: Any, **_named: object) -> Any:
        if axis is None or not _is_axes(axis):
            if binary and axis is not None:
                return combined(op, expr, axis)
            raise DslError(DSL, f"tvm.{name} takes an element and axis=, from tvm.reduce_axis")
        axes = list(axis) if isinstance(axis, list | tuple) else [axis]
        element = element_of(expr)
        return Element("reduce", (element,), element.dtype, (op, axes))

    reduce.__name__ = name
    return reduce


def _is_axes(value: Any) -> bool:
    listed = value if isinstance(value, list | tuple) else [value]
    return all(isinstance(v, IndexVariable) and v.reduced for v in listed) and bool(listed)


def _function(name: str, op: str, count: int = 1) -> Callable[..., Any]:
    def call(*values: Any, **_named: object) -> Any:
        if len(values) != count:
            raise DslError(DSL, f"tvm.{name} takes {count} arguments")
        if isinstance(values[0], Tensor):
            return elementwise(op, values[0].dtype, *values)
        return combined(op, *values)

    call.__name__ = name
    return call


def _joined(name: str, op: str) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        if not values:
            raise DslError(DSL, f"tvm.{name} takes conditions")
        result = element_of(values[0])
        for v in values[1:]:
            result = combined(op, result, v)
        return result

    call.__name__ = name
    return call


def _hardware(name: str) -> Callable[..., Any]:
    def refuse(*_arguments: object, **_named: object) -> Any:
        raise inexpressible(f"tvm.{name}", "it is a program for the hardware, not an expression")

    return refuse


def _sum(expr: Any, axis: Any = None, **named: Any) -> Any:
    return _reducer("sum", "sum", binary=False)(expr, axis, **named)


def _cast(value: Any, dtype: str) -> Any:
    return cast(value, dtype) if isinstance(value, Tensor) else element_of(value).astype(dtype)


def arithmetic_of_tensors() -> None:
    """`x + y` of whole tensors, as newer releases of tvm have it."""
    for method, op in {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "mod": "mod",
        "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    }.items():  # fmt: skip
        setattr(Tensor, f"__{method}__", _method(op))
        if op not in ("lt", "le", "gt", "ge"):
            setattr(Tensor, f"__r{method}__", _method(op, swapped=True))


def _method(op: str, swapped: bool = False) -> Callable[[Tensor, Any], Any]:
    def combine(self: Tensor, other: Any) -> Any:
        pair = (other, self) if swapped else (self, other)
        if _is_element(other):
            return combined(op, *pair)
        return elementwise(op, "bool" if op in ("lt", "le", "gt", "ge") else self.dtype, *pair)

    return combine


arithmetic_of_tensors()


def register_func(name: Any = "", *_arguments: object, **_named: object) -> Any:
    """tvm.register_func: a function for the code generator of the hardware, kept as it is."""
    return name if callable(name) else lambda function: function


NAMES: dict[str, Any] = {
    "placeholder": placeholder,
    "compute": compute,
    "const": const,
    "convert": lambda value: Number(value) if isinstance(value, int | float) else value,
    "select": select,
    "if_then_else": select,
    "var": Variable,
    "size_var": Variable,
    "reduce_axis": reduce_axis,
    "sum": _sum,
    "max": _reducer("max", "max", binary=True),
    "min": _reducer("min", "min", binary=True),
    "prod": _reducer("prod", "prod", binary=False),
    "all": _joined("all", "and"),
    "any": _joined("any", "or"),
    "cast": _cast,
    "create_schedule": building.create_schedule,
    "build": building.build,
    "build_config": building.BuildConfig(),
    "target": building.Target(),
    "double_buffer": lambda *_arguments: None,
    "thread_axis": lambda *_arguments, **_named: building.Axis(),
    **{
        name: _function(name, op)
        for name, op in {
            "exp": "exp", "log": "log", "sqrt": "sqrt", "rsqrt": "rsqrt", "tanh": "tanh",
            "sigmoid": "sigmoid",
            "erf": "erf", "sin": "sin", "cos": "cos", "tan": "tan", "atan": "atan", "floor": "floor",
            "ceil": "ceil", "trunc": "trunc", "round": "round", "nearbyint": "round", "abs": "abs",
            "fabs": "abs", "isnan": "isnan", "log2": "log2", "log10": "log10", "log1p": "log1p",
        }.items()
    },
    **{name: _function(name, op, 2) for name, op in {
        "power": "pow", "pow": "pow", "fmod": "mod", "floormod": "mod", "div": "div",
    }.items()},
    **{name: _hardware(name) for name in ("extern", "ir_builder", "call_extern", "decl_buffer")},
    "Tensor": Tensor,
    "Var": Variable,
    "Axis": building.Axis,
    "PlaceholderOp": Operation,
    "tag_scope": tag_scope,
    "register_func": register_func,
    "relu": lambda value, **_named: combined("max", value, 0),
}  # fmt: skip
