"""What an operator computes, in float64 NumPy: the measure of every kernel and generated code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes, with_elements
from ascend_ep.opdef.definition import AttributeValue, Kernel, OpDef
from ascend_ep.opdef.elementwise import Array, round_to
from ascend_ep.opdef.expression import (
    MOVES,
    Apply,
    Cast,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    MatMul,
    Program,
    Reduce,
    SumTo,
    TopK,
    Unsqueeze,
    children,
)
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.formula_shape import folded_dims, product_shape, resolve_axes, topk_axis
from ascend_ep.opdef.kernel_references import KERNEL_REFERENCES, topk
from ascend_ep.opdef.moves import moved
from ascend_ep.opdef.operations import OPERATIONS
from ascend_ep.opdef.output_types import check_inputs
from ascend_ep.opdef.quantised_references import QUANTISED_REFERENCES
from ascend_ep.opdef.reductions import expanded
from ascend_ep.opdef.shape_rule import Inapplicable
from ascend_ep.opdef.specialize import specialize

_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "var": np.var,
    "any": np.any,
    "all": np.all,
}


def evaluate(
    opdef: OpDef, inputs: Sequence[npt.ArrayLike | None], attributes: Mapping[str, Any] | None = None
) -> list[Array]:
    """The outputs for `inputs` (None: absent). Numbers are float64 and unrounded; an output whose definition
    fixes an integer type or bool has that type. Raises E41011 or E42005."""
    check_inputs(opdef, [None if x is None else (0, np.shape(x)) for x in inputs])
    bound = bind_attributes(opdef, with_elements(opdef, inputs, attributes or {}))
    arrays = [None if x is None else _widened(np.asarray(x)) for x in inputs]
    if isinstance(opdef.semantics, Kernel) and opdef.semantics.name in KERNEL_REFERENCES:
        if opdef.semantics.name in QUANTISED_REFERENCES:  # these saturate to the type of an input
            arrays = [None if x is None else np.asarray(x) for x in inputs]
        try:
            results = KERNEL_REFERENCES[opdef.semantics.name](arrays, bound)
        except (ValueError, IndexError) as error:
            raise AscendError("E42005", error, where=opdef.full_name) from None
    elif opdef.formula is not None:
        named = {spec.name: a for spec, a in zip(opdef.inputs, arrays, strict=False) if a is not None}
        results = evaluate_program(formula_program(opdef), named, bound)
    else:
        raise AscendError("E42005", f"{opdef.full_name} has no reference", where=opdef.origin)
    return [_as_declared(r, spec.types) for r, spec in zip(results, opdef.outputs, strict=False)]


def evaluate_program(
    program: Program, inputs: Mapping[str, Array], attributes: Mapping[str, AttributeValue]
) -> list[Array]:
    """The outputs of a program on float64 and bool arrays. Raises E42005."""
    program = specialize(program, attributes, inputs)
    evaluator = _Evaluator(inputs)
    try:
        with np.errstate(all="ignore"):
            for name, value in program.lets:
                evaluator.locals[name] = evaluator.value(value)
            return [np.asarray(evaluator.value(value)) for _, value in program.outputs]
    except (Inapplicable, ValueError) as error:
        raise AscendError("E42005", error) from None


class _Evaluator:
    """Values of the expressions of a specialized program."""

    def __init__(self, inputs: Mapping[str, Array]) -> None:
        self.inputs = inputs
        self.locals: dict[str, Any] = {}

    def value(self, node: Expression) -> Any:
        if isinstance(node, Constant):
            return node.value
        if isinstance(node, Local):
            return self.locals[node.name]
        if isinstance(node, Input):
            if node.name not in self.inputs:
                raise Inapplicable(f"input [{node.name}] is not given")
            return self.inputs[node.name]
        if isinstance(node, Cast):
            return round_to(self.value(node.arg), node.dtype)
        if isinstance(node, Apply):
            return OPERATIONS[node.op].numpy(*map(self.value, node.args))
        if isinstance(node, Reduce):
            return self.reduce(node)
        if isinstance(node, TopK):
            return self.topk(node)
        if isinstance(node, Unsqueeze):
            array = np.asarray(self.value(node.arg))
            return np.expand_dims(array, resolve_axes(node.axes, array.ndim + len(_axes(node.axes))))
        if isinstance(node, SumTo):
            return self.sum_to(node)
        if isinstance(node, MatMul):
            a, b = (np.asarray(self.value(c), dtype=np.float64) for c in (node.a, node.b))
            product_shape(a.shape, b.shape)
            return np.matmul(a, b)
        if isinstance(node, MOVES):
            return moved(node, [np.asarray(self.value(c)) for c in children(node)])
        return self.index(node)

    def reduce(self, node: Reduce) -> Any:
        array = np.asarray(self.value(node.arg))
        axes = resolve_axes(node.axes, array.ndim)
        if node.op in ("argmax", "argmin"):
            choose = np.argmax if node.op == "argmax" else np.argmin
            return choose(array, axis=axes[0], keepdims=node.keepdims).astype(np.float64)
        if node.op in _REDUCTIONS:
            array = (
                array if array.dtype == np.bool_ and node.op in ("any", "all") else array.astype(np.float64)
            )
            return _REDUCTIONS[node.op](array, axis=axes, keepdims=node.keepdims)
        return self.value(expanded(node))

    def topk(self, node: TopK) -> Any:
        array = np.asarray(self.value(node.arg), dtype=np.float64)
        axis = topk_axis(node, array.shape)
        found = topk([array], {"k": node.k, "axis": axis, "largest": node.largest})[node.indices]
        return found.astype(np.float64)

    def sum_to(self, node: SumTo) -> Any:
        array, shape = np.asarray(self.value(node.arg)), np.shape(self.value(node.like))
        total = array.sum(folded_dims(array.shape, shape), keepdims=True)
        return np.broadcast_to(total.reshape(total.shape[max(0, array.ndim - len(shape)) :]), shape)

    def index(self, node: Expression) -> Any:
        assert isinstance(node, Index), "a specialized program has no attributes"
        array = np.asarray(self.value(node.like))
        (axis,) = resolve_axes(node.axis, array.ndim)
        if node.size:
            return float(array.shape[axis])
        shape = [array.shape[axis] if i == axis else 1 for i in range(array.ndim)]
        return np.arange(array.shape[axis], dtype=np.float64).reshape(shape)


def _axes(axes: Any) -> tuple[int, ...]:
    return axes if isinstance(axes, tuple) else (axes,)


def _widened(array: Array) -> Array:
    return array if array.dtype == np.bool_ else array.astype(np.float64)


def _as_declared(array: Array, types: tuple[int, ...]) -> Array:
    if len(types) != 1 or types[0] in dtypes.FLOATS or types[0] not in dtypes.NUMPY:
        return array
    kind = np.dtype(dtypes.NUMPY[types[0]])
    if types[0] not in dtypes.INTEGERS or array.dtype == np.bool_:
        return array.astype(kind)
    most, rounded = np.iinfo(kind).max, round_to(array, types[0])
    above = rounded >= float(most)  # float64 has no such number for 64 bits
    return np.where(above, kind.type(most), np.where(above, 0.0, rounded).astype(kind))
