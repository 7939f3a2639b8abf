"""Operators that a model spells in primitives, written as themselves."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
from onnx import ModelProto
from onnxscript.rewriter import pattern


def _sigmoid(op: Any, x: Any) -> Any:
    return op.Div(1.0, op.Add(op.Exp(op.Neg(x)), 1.0))


def _swish(op: Any, x: Any) -> Any:
    return op.Div(x, op.Add(op.Exp(op.Neg(x)), 1.0))


def _softplus(op: Any, x: Any) -> Any:
    return op.Log(op.Add(op.Exp(x), 1.0))


def _make_sigmoid(op: Any, x: Any) -> Any:
    return op.Sigmoid(x)


def _make_swish(op: Any, x: Any) -> Any:
    return op.Mul(x, op.Sigmoid(x))


def _make_softplus(op: Any, x: Any) -> Any:
    return op.Softplus(x)


def respell(model: ModelProto) -> int:
    """Sigmoid, Swish and Softplus made of exponentials; returns how many."""
    pairs = ((_swish, _make_swish), (_sigmoid, _make_sigmoid), (_softplus, _make_softplus))
    rules = pattern.RewriteRuleSet(
        [pattern.RewriteRule(target, make) for target, make in pairs], commute=True
    )
    read = ir.from_proto(model)
    count = int(rules.apply_to_model(read))
    if count:
        model.CopyFrom(ir.to_proto(read))
    return count
