"""DequantizeLinear in float64, of which onnx.reference lacks the opsets before 19, and the operators that
onnxruntime has on quantised tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from ascend_ep.graph.reference_windows import Sliding, pool


class DequantizeLinear(OpRun):
    def _run(
        self, x: Any, scale: Any, zero: Any = None, axis: Any = 1, block_size: Any = 0, **_: Any
    ) -> tuple[Any]:
        axis = 1 if axis is None else axis
        shift = np.zeros_like(scale) if zero is None else np.asarray(zero)
        scales, shifts = (
            _spread(np.asarray(t, np.float64), x, axis, block_size or 0) for t in (scale, shift)
        )
        return ((np.asarray(x).astype(np.float64) - shifts) * scales,)


def _spread(table: Any, x: Any, axis: int, block: int) -> Any:
    """The table's elements beside those of x that they belong to; broadcasts."""
    if block:
        whole = np.repeat(table, block, axis)
        return whole[tuple(slice(d) for d in x.shape)]
    if table.size == 1:
        return table.reshape(())
    return table.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


class _Quantised(OpRun):
    """An operator of com.microsoft between quantised tensors: on what its operands (value, scale, zero point)
    say, the result rounded to its own scale. `result`: where that scale is among the inputs."""

    op_domain = "com.microsoft"
    operands: tuple[int, ...] = (0,)
    result = 3

    def _run(self, *given: Any, **attributes: Any) -> tuple[Any]:
        given = (*given, *[None] * (9 - len(given)))
        floats = [_float(*given[i : i + 3]) for i in self._operands(given)]
        scale, zero = given[self.result], given[self.result + 1]
        kind = (given[self._operands(given)[0]] if zero is None else zero).dtype
        steps = np.rint(self.compute(floats, attributes) / scale) + (0 if zero is None else zero)
        limits = np.iinfo(kind)
        return (np.clip(steps, limits.min, limits.max).astype(kind),)

    def _operands(self, given: Any) -> Sequence[int]:
        return self.operands

    def compute(self, x: list[Any], a: dict[str, Any]) -> Any:
        raise NotImplementedError


class QLinearAdd(_Quantised):
    operands, result = (0, 3), 6

    def compute(self, x: list[Any], a: dict[str, Any]) -> Any:
        return x[0] + x[1]


class QLinearMul(_Quantised):
    operands, result = (0, 3), 6

    def compute(self, x: list[Any], a: dict[str, Any]) -> Any:
        return x[0] * x[1]


class QLinearSigmoid(_Quantised):
    def compute(self, x: list[Any], a: dict[str, Any]) -> Any:
        return 1 / (1 + np.exp(-x[0]))


class QLinearLeakyRelu(_Quantised):
    def compute(self, x: list[Any], a: dict[str, Any]) -> Any:
        return np.where(x[0] < 0, x[0] * a.get("alpha", 0.01), x[0])


class QLinearGlobalAveragePool(_Quantised):
    def compute(self, x: list[Any], a: dict[str, Any]) -> Any:
        first = 1 if a.get("channels_last") else 2
        return x[0].mean(axis=tuple(range(first, first + x[0].ndim - 2)), keepdims=True)


class QLinearAveragePool(_Quantised):
    def compute(self, x: list[Any], a: dict[str, Any]) -> Any:
        if a.get("channels_last"):
            raise NotImplementedError("QLinearAveragePool of channels last")
        how = Sliding.of(a["kernel_shape"], a)
        return pool(x[0], how, average=True, count_padding=bool(a.get("count_include_pad")))


class QLinearSoftmax(_Quantised):
    def compute(self, x: list[Any], a: dict[str, Any]) -> Any:
        axis = a.get("axis", -1) % x[0].ndim
        axes = (axis,) if a.get("opset", 13) >= 13 else tuple(range(axis, x[0].ndim))
        powers = np.exp(x[0] - x[0].max(axis=axes, keepdims=True))
        return powers / powers.sum(axis=axes, keepdims=True)


class QLinearWhere(_Quantised):
    operands, result = (1, 4), 7

    def _run(self, *given: Any, **attributes: Any) -> tuple[Any]:
        return super()._run(*given, condition=given[0], **attributes)

    def compute(self, x: list[Any], a: dict[str, Any]) -> Any:
        return np.where(a["condition"], x[0], x[1])


class QLinearConcat(_Quantised):
    result = 0

    def _operands(self, given: Any) -> Sequence[int]:
        return [i for i in range(2, len(given), 3) if given[i] is not None]

    def compute(self, x: list[Any], a: dict[str, Any]) -> Any:
        return np.concatenate(x, axis=a["axis"])


def _float(x: Any, scale: Any, zero: Any) -> Any:
    return (x.astype(np.float64) - (0 if zero is None else zero)) * np.asarray(scale, np.float64)


QUANTISED_OPS: tuple[type[OpRun], ...] = (
    QLinearAdd,
    QLinearAveragePool,
    QLinearConcat,
    QLinearGlobalAveragePool,
    QLinearLeakyRelu,
    QLinearMul,
    QLinearSigmoid,
    QLinearSoftmax,
    QLinearWhere,
)
