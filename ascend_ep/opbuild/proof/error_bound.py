"""How far a kernel's result may be from the exact one: rounding errors carried through an expression.

bounded.py has elementwise operations, reduction_bound.py reductions, arithmetic.py the stated error of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ascend_ep.opbuild.proof.arithmetic import FLOAT32, Arithmetic
from ascend_ep.opbuild.proof.bounded import Array, Bounded, apply, at_ends, held, may_be_zero, rounded
from ascend_ep.opbuild.proof.product_bound import matrix_product
from ascend_ep.opbuild.proof.reduction_bound import Fold, chosen
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.elementwise import round_to
from ascend_ep.opdef.expression import (
    MOVES,
    AddAt,
    Apply,
    AttributeRef,
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
    Take,
    TopK,
    Unsqueeze,
    Windows,
    children,
)
from ascend_ep.opdef.formula_shape import folded_dims, resolve_axes, topk_axis
from ascend_ep.opdef.kernel_references import topk
from ascend_ep.opdef.moves import Move, moved
from ascend_ep.opdef.reductions import expanded


class NoBound(Exception):
    """The expression has a part whose errors this module can't carry; the text says which."""


def propagate(
    program: Program, inputs: Mapping[str, Array], arithmetic: Arithmetic = FLOAT32
) -> list[Bounded]:
    """The outputs of a specialised program with their bounds, before rounding to the outputs' types.

    `arithmetic`: what the kernel computes in. Raises NoBound.
    """
    reader = _Propagation(inputs, arithmetic)
    with np.errstate(all="ignore"):
        for name, value in program.lets:
            reader.locals[name] = reader.read(value)
        return [reader.read(value) for _, value in program.outputs]


class _Propagation:
    def __init__(self, inputs: Mapping[str, Array], arithmetic: Arithmetic) -> None:
        self.inputs = inputs
        self.arithmetic = arithmetic
        self.locals: dict[str, Bounded] = {}

    def read(self, node: Expression) -> Bounded:
        if isinstance(node, Constant):
            exact = isinstance(node.value, bool)
            return Bounded(np.asarray(node.value)) if exact else held(np.float64(node.value), self.arithmetic)
        if isinstance(node, Local):
            return self.locals[node.name]
        if isinstance(node, Input):
            array = self.inputs[node.name]
            return Bounded(array) if array.dtype == np.bool_ else held(array.astype(float), self.arithmetic)
        if isinstance(node, Cast):
            return self.cast(node)
        if isinstance(node, Apply):
            return apply(node.op, [self.read(arg) for arg in node.args], self.arithmetic)
        if isinstance(node, Reduce):
            return self.reduce(node)
        if isinstance(node, Index):
            return self.index(node)
        if isinstance(node, TopK):
            return self.topk(node)
        if isinstance(node, Unsqueeze):
            return self.read(node.arg).moved(lambda a: np.expand_dims(a, _new_axes(node, a.ndim)))
        if isinstance(node, SumTo):
            return self.sum_to(node)
        if isinstance(node, MatMul):
            return matrix_product(self.read(node.a), self.read(node.b), self.arithmetic)
        if isinstance(node, MOVES):
            return self.moved(node)
        raise NoBound(f"there is no error bound for {type(node).__name__}")

    def moved(self, node: Move) -> Bounded:
        """Errors go where their elements go. Which ones an index takes is sure where the index is."""
        operands = [self.read(c) for c in children(node)]
        if isinstance(node, AddAt):
            raise NoBound("slices are added at indices")
        if isinstance(node, Take) and np.any(np.asarray(operands[1].error) > 0):
            raise NoBound("indices are computed with errors")
        values = [np.asarray(o.value) for o in operands]
        errors = [
            np.broadcast_to(np.asarray(o.error, dtype=np.float64), v.shape)
            for o, v in zip(operands, values, strict=True)
        ]
        if isinstance(node, Take):
            errors[1] = values[1]
        filled = replace(node, fill=0.0) if isinstance(node, Windows) else node
        return Bounded(moved(node, values), moved(filled, errors))

    def cast(self, node: Cast) -> Bounded:
        """Rounding to a type moves with its operand; whole numbers the compute type lacks are rounded."""
        operand = self.read(node.arg)
        result = at_ends(lambda x: round_to(x, node.dtype), [operand])
        if node.dtype == dtypes.BOOL:
            return Bounded(result.value, np.maximum(result.error, may_be_zero(operand) * 1.0))
        again = rounded(result, self.arithmetic)
        large = np.abs(result.value) > self.arithmetic.whole
        return Bounded(result.value, np.where(large, again.error, result.error))

    def index(self, node: Index) -> Bounded:
        array = np.asarray(self.read(node.like).value)
        (axis,) = resolve_axes(node.axis, array.ndim)
        if node.size:
            return Bounded(np.float64(array.shape[axis]))
        shape = [array.shape[axis] if i == axis else 1 for i in range(array.ndim)]
        return Bounded(np.arange(array.shape[axis], dtype=np.float64).reshape(shape))

    def reduce(self, node: Reduce) -> Bounded:
        if node.op == "logsumexp":
            return self.read(expanded(node))
        operand = self.read(node.arg)
        axes = resolve_axes(node.axes, np.ndim(operand.value))
        if node.op in ("argmax", "argmin"):
            choose = np.argmax if node.op == "argmax" else np.argmin
            found = choose(operand.value, axis=axes[0], keepdims=True)
            result = Bounded(found.astype(np.float64), chosen(operand, axes[0], found))
            return result if node.keepdims else result.moved(lambda a: a.squeeze(axes[0]))
        fold = Fold(operand, axes, node.keepdims, self.arithmetic)
        if node.op in ("max", "min"):
            return fold.extreme(node.op)
        if node.op in ("any", "all"):
            return fold.truth(node.op)
        if node.op in ("sum", "mean"):
            return fold.total(node.op)
        if node.op == "prod":
            return fold.product()
        if node.op == "var":
            return fold.variance()
        raise NoBound(f"there is no error bound for {node.op}")

    def topk(self, node: TopK) -> Bounded:
        """Order statistics move no further than what is ordered."""
        operand = self.read(node.arg)
        x = np.asarray(operand.value, dtype=np.float64)
        axis = topk_axis(node, x.shape)
        values, indices = topk([x], {"k": node.k, "axis": axis, "largest": node.largest})
        if node.indices:
            return Bounded(indices.astype(np.float64), chosen(operand, axis, indices))
        error = np.broadcast_to(np.asarray(operand.error, dtype=np.float64), x.shape)
        most = np.max(error, axis=axis, keepdims=True, initial=0.0)
        return Bounded(values, np.broadcast_to(most, values.shape))

    def sum_to(self, node: SumTo) -> Bounded:
        """Sums over the dimensions that `like` lacks, then the shape of `like`."""
        operand = self.read(node.arg)
        x, shape = np.asarray(operand.value), np.shape(self.read(node.like).value)
        axes = folded_dims(x.shape, shape)
        total = Fold(operand, axes, True, self.arithmetic).total("sum") if axes else operand
        lacking = max(x.ndim - len(shape), 0)
        return total.moved(lambda a: np.broadcast_to(a.reshape(a.shape[lacking:]), shape))


def _new_axes(node: Unsqueeze, rank: int) -> tuple[int, ...]:
    axes = node.axes
    assert not isinstance(axes, AttributeRef), "a specialized program has no attributes"
    return resolve_axes(axes, rank + len(axes))


def interval(bounded: Bounded, dtype: int) -> tuple[Array, Array]:
    """The least and greatest results of an output of this type that the bound allows, as float64.

    NaN stands where only NaN is right; -inf to inf where nothing can be said.
    """
    with np.errstate(all="ignore"):
        y = np.asarray(bounded.value, dtype=np.float64)
        error = np.broadcast_to(np.asarray(bounded.error, dtype=np.float64), y.shape)
        if dtype == dtypes.BOOL:
            may_be_false = (np.abs(y) <= error) | ~np.isfinite(error)
            return np.where(may_be_false, 0.0, 1.0), np.where((y != 0) | (error != 0), 1.0, 0.0)
        low, high = _rounded_to(y - error, dtype), _rounded_to(y + error, dtype)
        lost = ~np.isfinite(error)
        exact = np.isinf(y) & ~lost
        low, high = np.where(lost, -np.inf, low), np.where(lost, np.inf, high)
        rounded_value = _rounded_to(y, dtype)
        return np.where(exact, rounded_value, low), np.where(exact, rounded_value, high)


def _rounded_to(y: Array, dtype: int) -> Array:
    return y if dtype == dtypes.FLOAT64 else round_to(y, dtype)
