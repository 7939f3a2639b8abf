"""What an operator computes, in float64 NumPy: the measure of every kernel and generated code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import AttributeValue, Formula, Kernel, OpDef
from ascend_ep.opdef.expression import (
    Apply,
    AttributeRef,
    Cast,
    Constant,
    Expression,
    Given,
    Index,
    Input,
    Local,
    Program,
    Reduce,
)
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.formula_shape import resolve_axes
from ascend_ep.opdef.infer import check_inputs
from ascend_ep.opdef.kernel_references import KERNEL_REFERENCES
from ascend_ep.opdef.shape_rule import Inapplicable

Array = npt.NDArray[Any]


def _sigmoid(x: Any) -> Any:
    return np.where(np.asarray(x) >= 0, 1, np.exp(np.minimum(x, 0))) / (1 + np.exp(-np.abs(x)))


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _erf(x: Any) -> Any:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), dtype=np.float64)


#: What each operation of expression.OPERATIONS computes, on float64 and bool arrays.
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _erf,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": lambda a, b: np.floor(np.divide(a, b)),
    "mod": np.mod,
    "pow": np.power,
    "min": np.minimum,
    "max": np.maximum,
    "atan2": np.arctan2,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "select": np.where,
}
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "var": np.var,
}


def evaluate(
    opdef: OpDef, inputs: Sequence[npt.ArrayLike | None], attributes: Mapping[str, Any] | None = None
) -> list[Array]:
    """The outputs for `inputs` (None: absent). Numbers are float64 and unrounded; an output whose definition
    fixes an integer type or bool has that type. Raises E41011 or E42005."""
    check_inputs(opdef, [None if x is None else (0, None) for x in inputs])
    bound = bind_attributes(opdef, attributes or {})
    arrays = [None if x is None else _widened(np.asarray(x)) for x in inputs]
    if isinstance(opdef.semantics, Formula):
        named = {spec.name: a for spec, a in zip(opdef.inputs, arrays, strict=False) if a is not None}
        results = evaluate_program(formula_program(opdef), named, bound)
    elif isinstance(opdef.semantics, Kernel) and opdef.semantics.name in KERNEL_REFERENCES:
        try:
            results = KERNEL_REFERENCES[opdef.semantics.name](arrays, bound)
        except (ValueError, IndexError) as error:
            raise AscendError("E42005", error, where=opdef.full_name) from None
    else:
        raise AscendError("E42005", f"{opdef.full_name} has no reference", where=opdef.origin)
    return [_as_declared(r, spec.types) for r, spec in zip(results, opdef.outputs, strict=False)]


def evaluate_program(
    program: Program, inputs: Mapping[str, Array], attributes: Mapping[str, AttributeValue]
) -> list[Array]:
    """The outputs of a program on float64 and bool arrays. Raises E42005."""
    evaluator = _Evaluator(inputs, attributes)
    with np.errstate(all="ignore"):
        for name, value in program.lets:
            evaluator.locals[name] = evaluator.value(value)
        return [np.asarray(evaluator.value(value)) for _, value in program.outputs]


class _Evaluator:
    def __init__(self, inputs: Mapping[str, Array], attributes: Mapping[str, AttributeValue]) -> None:
        self.inputs = inputs
        self.attributes = attributes
        self.locals: dict[str, Any] = {}

    def value(self, node: Expression) -> Any:
        if isinstance(node, Constant):
            return node.value
        if isinstance(node, Input):
            return self.named(self.inputs, node.name, "input")
        if isinstance(node, Local):
            return self.locals[node.name]
        if isinstance(node, AttributeRef):
            return self.named(self.attributes, node.name, "attribute")
        if isinstance(node, Given):
            return node.name in self.inputs
        if isinstance(node, Cast):
            return round_to(self.value(node.arg), node.dtype)
        if isinstance(node, Apply):
            return self.apply(node)
        return self.along_axes(node)

    def named(self, values: Mapping[str, Any], name: str, what: str) -> Any:
        if name not in values:
            raise AscendError("E42005", f"{what} [{name}] is not given")
        return values[name]

    def apply(self, node: Apply) -> Any:
        if node.op == "select" and isinstance(node.args[0], Given):
            return self.value(node.args[1] if self.value(node.args[0]) else node.args[2])
        operands = [self.value(arg) for arg in node.args]
        if isinstance(operands[0], str):
            return (operands[0] == operands[1]) == (node.op == "eq")
        try:
            return ELEMENTWISE[node.op](*operands)
        except ValueError as error:
            raise AscendError("E42005", error) from None

    def along_axes(self, node: Reduce | Index) -> Any:
        try:
            if isinstance(node, Reduce):
                array = np.asarray(self.value(node.arg), dtype=np.float64)
                axes = resolve_axes(node.axes, self.attributes, array.ndim)
                return _REDUCTIONS[node.op](array, axis=axes, keepdims=node.keepdims)
            array = np.asarray(self.value(node.like))
            (axis,) = resolve_axes(node.axis, self.attributes, array.ndim)
        except (Inapplicable, ValueError) as error:
            raise AscendError("E42005", error) from None
        if node.size:
            return float(array.shape[axis])
        shape = [array.shape[axis] if i == axis else 1 for i in range(array.ndim)]
        return np.arange(array.shape[axis], dtype=np.float64).reshape(shape)


def round_to(value: Any, dtype: int) -> Array:
    """`value` rounded to an element type, as float64. Integers truncate and saturate; NaN becomes 0."""
    array = np.asarray(value, dtype=np.float64)
    if dtype == dtypes.BOOL:
        return np.asarray(array != 0, dtype=np.float64)
    if dtype == dtypes.BFLOAT16:
        return _round_to_bfloat16(array)
    if dtype in dtypes.INTEGERS:
        limits = np.iinfo(np.dtype(dtypes.NUMPY[dtype]))
        return np.clip(
            np.trunc(np.nan_to_num(array, nan=0.0, posinf=np.inf, neginf=-np.inf)), limits.min, limits.max
        )
    with np.errstate(over="ignore"):
        return array.astype(dtypes.NUMPY[dtype]).astype(np.float64)


def _round_to_bfloat16(array: Array) -> Array:
    """float32 to the nearest with 8 significant bits, ties to even."""
    with np.errstate(over="ignore"):
        bits = np.ascontiguousarray(array.astype(np.float32)).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    result = rounded.view(np.float32).astype(np.float64).reshape(array.shape)
    return np.where(np.isnan(array), array, result)


def _widened(array: Array) -> Array:
    return array if array.dtype == np.bool_ else array.astype(np.float64)


def _as_declared(array: Array, types: tuple[int, ...]) -> Array:
    if len(types) == 1 and types[0] not in dtypes.FLOATS and types[0] in dtypes.NUMPY:
        return array.astype(dtypes.NUMPY[types[0]])
    return array
