"""Shapes of elementwise operators, and the elements of integer ones: arithmetic, logic, Where, Cast."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ascend_ep.element_types import BOOL
from ascend_ep.graph.facts import INT_TYPES, TRACKED_TYPES, Fact
from ascend_ep.graph.shapes.foreign import infer_by_onnx
from ascend_ep.graph.shapes.rule import Call, Objects, broadcast, infers, same_as_input, tracked
from ascend_ep.opdef.dims import Dim, DimTooComplex, bounds, floordiv, max_, min_, modulo

infers(
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceil", "Celu", "Clip",
    "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "IsInf", "IsNaN",
    "LeakyRelu", "Log", "Mish", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sin", "Sinh",
    "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu",
)(same_as_input)  # fmt: skip


def _each(call: Call, function: Callable[[Dim], Dim | None]) -> Fact | None:
    """Input 0's tracked elements through `function`, or None when one is not expressible."""
    array = call.elements(0)
    if array is None:
        return None
    try:
        return _from_results([function(v) for v in array.reshape(-1)], array.shape)
    except DimTooComplex:
        return None


def _from_results(results: list[Dim | None], shape: tuple[int, ...]) -> Fact | None:
    if any(r is None for r in results):
        return None
    array: Objects = np.empty(len(results), dtype=object)
    array[:] = results
    return tracked(array.reshape(shape))


@infers("OptionalGetElement")
def infer_optional_get_element(call: Call) -> Fact | list[Fact]:
    """Of a tensor this is the tensor; what an optional holds is a matter of types."""
    fact = call.fact(0)
    return Fact(fact.dtype, fact.dims) if fact.dtype else infer_by_onnx(call)


@infers("Neg")
def infer_neg(call: Call) -> Fact:
    return _each(call, lambda v: v * -1) or same_as_input(call)


@infers("Abs")
def infer_abs(call: Call) -> Fact:
    return _each(call, lambda v: max_(v, v * -1)) or same_as_input(call)


@infers("Sign")
def infer_sign(call: Call) -> Fact:
    def sign(value: Dim) -> Dim | None:
        low, high = bounds(value)
        if low is not None and low > 0:
            return 1
        return -1 if high is not None and high < 0 else 0 if low == high == 0 else None

    return _each(call, sign) or same_as_input(call)


@infers("Not")
def infer_not(call: Call) -> Fact:
    return _each(call, lambda v: 1 - v) or same_as_input(call)


@infers("Cast", "CastLike")
def infer_cast(call: Call) -> Fact:
    to = call.dtype(1) if call.node.op_type == "CastLike" else int(call.attr("to", 0))
    result = None
    if call.dtype(0) in TRACKED_TYPES and to in INT_TYPES:
        info = np.iinfo({2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 12: "u4", 13: "u8"}[to])
        result = _each(call, lambda v: v if _within(v, int(info.min), int(info.max)) else None)
    elif call.dtype(0) in TRACKED_TYPES and to == BOOL:
        result = _each(
            call, lambda v: _compare(v, 0, lambda d, _: int(d != 0) if isinstance(d, int) else None, True)
        )
    if result is not None:
        result.dtype = to
        return result
    return Fact(to, call.dims(0))


def _within(value: Dim, least: int, most: int) -> bool:
    low, high = bounds(value)
    return low is not None and low >= least and (high is None or high <= most or most >= 2**31 - 1)


def _divide(a: Dim, b: Dim) -> Dim | None:
    """Integer Div truncates toward zero."""
    if isinstance(a, int) and isinstance(b, int):
        return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else None
    low_a, low_b = bounds(a)[0], bounds(b)[0]
    return (
        floordiv(a, b)
        if low_a is not None and low_a >= 0 and low_b is not None and low_b >= 0 and b != 0
        else None
    )


def _modulo(a: Dim, b: Dim) -> Dim | None:
    return modulo(a, b) if b != 0 else None


def _compare(
    a: Dim, b: Dim, decide: Callable[[Dim, tuple[int | None, int | None]], int | None], equality: bool
) -> Dim | None:
    difference = a - b
    result = decide(difference, bounds(difference))
    if result is None and equality:
        low, high = bounds(difference)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return 1
    return result


def _equal(a: Dim, b: Dim) -> Dim | None:
    unequal = _compare(a, b, lambda d, _: int(d != 0) if isinstance(d, int) else None, True)
    return None if unequal is None else 1 - unequal


def _less(a: Dim, b: Dim) -> Dim | None:
    low, high = bounds(a - b)
    if high is not None and high < 0:
        return 1
    return 0 if low is not None and low >= 0 else None


def _not(value: Dim | None) -> Dim | None:
    return None if value is None else 1 - value


_ELEMENTS: dict[str, Callable[[Dim, Dim], Dim | None]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": _divide,
    "Mod": _modulo,
    "Equal": _equal,
    "Less": _less,
    "Greater": lambda a, b: _less(b, a),
    "LessOrEqual": lambda a, b: _not(_less(b, a)),
    "GreaterOrEqual": lambda a, b: _not(_less(a, b)),
    "And": lambda a, b: a * b,
    "Or": lambda a, b: max_(a, b),
    "Xor": lambda a, b: max_(a, b) - min_(a, b),
    "Max": max_,
    "Min": min_,
}


@infers(
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Mod",
    "Equal",
    "Less",
    "Greater",
    "LessOrEqual",
    "GreaterOrEqual",
    "And",
    "Or",
    "Xor",
)
@infers("BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Pow", "PRelu")
def infer_binary(call: Call) -> Fact:
    if call.node.op_type == "PRelu":
        return Fact(dims=call.dims(0))
    return infer_variadic(call)


@infers("Max", "Min", "Sum", "Mean")
def infer_variadic(call: Call) -> Fact:
    function = _ELEMENTS.get(call.node.op_type)
    if function is not None and not (call.node.op_type == "Mod" and call.attr("fmod", 0)):
        arrays = [call.elements(i) for i in range(len(call.inputs))]
        if all(a is not None for a in arrays):
            result = _combine(call, [a for a in arrays if a is not None], function)
            if result is not None:
                return result
    return Fact(dims=broadcast(call, *(call.dims(i) for i in range(len(call.inputs)))))


def _combine(call: Call, arrays: list[Objects], function: Callable[[Dim, Dim], Dim | None]) -> Fact | None:
    try:
        same = np.broadcast_arrays(*arrays)
    except ValueError:
        broadcast(call, *(a.shape for a in arrays))
        raise
    values: list[Dim | None] = list(same[0].reshape(-1))
    for array in same[1:]:
        pairs = zip(values, array.reshape(-1), strict=True)
        try:
            values = [None if a is None else function(a, b) for a, b in pairs]
        except DimTooComplex:
            return None
    return _from_results(values, same[0].shape)


@infers("Where")
def infer_where(call: Call) -> Fact:
    arrays = [call.elements(i) for i in range(3)]
    if all(a is not None for a in arrays):
        condition, yes, no = np.broadcast_arrays(*[a for a in arrays if a is not None])
        picked: list[Dim | None] = []
        for c, x, y in zip(condition.reshape(-1), yes.reshape(-1), no.reshape(-1), strict=True):
            picked.append((x if c else y) if isinstance(c, int) else x if x == y else None)
        result = _from_results(picked, condition.shape)
        if result is not None:
            return result
    return Fact(dims=broadcast(call, call.dims(0), call.dims(1), call.dims(2)))


@infers("Dropout")
def infer_dropout(call: Call) -> list[Fact]:
    return [Fact(dims=call.dims(0)), Fact(BOOL, call.dims(0))][: call.n_outputs]


@infers("BitCast")
def infer_bitcast(call: Call) -> Fact:
    return Fact(int(call.attr("to", 0)), call.dims(0))
