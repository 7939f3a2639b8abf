"""DequantizeLinear of every opset in float64; onnx.reference lacks those before 19."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


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
