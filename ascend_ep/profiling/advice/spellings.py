"""Operators that a model spells in primitives, written as themselves.

Only those whose kernel is faster than the primitives fused: a softplus or a Mish in exponentials is not here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import ModelProto
from onnxscript.rewriter import pattern

from ascend_ep.profiling.advice.graphs import opset_of

ROOT_HALF = 0.7071067811865476
Spelling = Callable[..., Any]


def _sigmoid(op: Any, x: Any) -> Any:
    return op.Div(1.0, op.Add(op.Exp(op.Neg(x)), 1.0))


def _swish(op: Any, x: Any) -> Any:
    return op.Div(x, op.Add(op.Exp(op.Neg(x)), 1.0))


def _tanh(op: Any, x: Any) -> Any:
    up, down = op.Exp(x), op.Exp(op.Neg(x))
    return op.Div(op.Sub(up, down), op.Add(up, down))


def _gelu_by_complement(op: Any, x: Any) -> Any:
    """x * erfc(-x / sqrt(2)) / 2."""
    tail = op.Sub(1.0, op.Erf(op.Mul(op.Neg(x), ROOT_HALF)))
    return op.Mul(op.Mul(tail, 0.5), x)


def _hard_swish(op: Any, x: Any, low: Any, high: Any) -> Any:
    return op.Div(op.Mul(x, op.Clip(op.Add(x, 3.0), low, high)), 6.0)


def _hard_swish_of_relu6(op: Any, x: Any, low: Any, high: Any) -> Any:
    return op.Mul(x, op.Div(op.Clip(op.Add(x, 3.0), low, high), 6.0))


def _leaky(op: Any, x: Any, slope: Any) -> Any:
    return op.Where(op.Greater(x, 0.0), x, op.Mul(x, slope))


def _softmax(op: Any, x: Any, axes: Any) -> Any:
    powers = op.Exp(x)
    return op.Div(powers, op.ReduceSum(powers, axes, keepdims=1))


def _make_sigmoid(op: Any, x: Any) -> Any:
    return op.Sigmoid(x)


def _make_swish(op: Any, x: Any) -> Any:
    return op.Mul(x, op.Sigmoid(x))


def _make_tanh(op: Any, x: Any) -> Any:
    return op.Tanh(x)


def _make_gelu(op: Any, x: Any) -> Any:
    """As exporters spell it, which every operator set can."""
    root, one, half = (op.Constant(value=ir.tensor(np.float32(v))) for v in (2**0.5, 1.0, 0.5))
    return op.Mul(op.Mul(x, op.Add(op.Erf(op.Div(x, root)), one)), half)


def _make_hard_swish(op: Any, x: Any, **_: Any) -> Any:
    return op.HardSwish(x)


def _make_leaky(op: Any, x: Any, slope: Any) -> Any:
    return op.LeakyRelu(x, alpha=_number(slope))


def _make_softmax(op: Any, x: Any, axes: Any) -> Any:
    return op.Softmax(x, axis=int(_number(axes) or 0))


def _number(value: Any) -> float | None:
    """Of a constant with one element."""
    if value is None or value.const_value is None or value.const_value.size != 1:
        return None
    return float(np.asarray(value.const_value.numpy()).reshape(()))


def _is_float32(context: Any, x: Any) -> bool:
    return bool(x.dtype == ir.DataType.FLOAT)


def _is_relu6(context: Any, low: Any, high: Any, **_: Any) -> bool:
    return _number(low) == 0 and _number(high) == 6


def _has_slope(context: Any, slope: Any, **_: Any) -> bool:
    return _number(slope) is not None


def _has_axis(context: Any, axes: Any, **_: Any) -> bool:
    return _number(axes) is not None


#: What is spelled, what it is, on which condition, from which operator set on.
SPELLINGS: tuple[tuple[Spelling, Spelling, Callable[..., bool] | None, int], ...] = (
    (_swish, _make_swish, None, 7),
    (_sigmoid, _make_sigmoid, None, 7),
    (_tanh, _make_tanh, None, 7),
    (_gelu_by_complement, _make_gelu, _is_float32, 9),
    (_hard_swish, _make_hard_swish, _is_relu6, 14),
    (_hard_swish_of_relu6, _make_hard_swish, _is_relu6, 14),
    (_leaky, _make_leaky, _has_slope, 9),
    (_softmax, _make_softmax, _has_axis, 13),
)


def respell(model: ModelProto) -> int:
    """Activations and softmaxes made of exponentials, comparisons and the like; returns how many."""
    opset = opset_of(model)
    rules = [
        pattern.RewriteRule(target, make, condition)
        for target, make, condition, least in SPELLINGS
        if opset >= least
    ]
    read = ir.from_proto(onnx.shape_inference.infer_shapes(model))
    count = int(pattern.RewriteRuleSet(rules, commute=True).apply_to_model(read))
    if count:
        model.CopyFrom(ir.to_proto(read))
    return count
