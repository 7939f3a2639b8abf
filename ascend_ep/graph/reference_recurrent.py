"""RNN, GRU and LSTM for onnx.reference, which knows only some of their forms."""

from __future__ import annotations

from typing import Any

from onnx.reference.op_run import OpRun

from ascend_ep.opdef.recurrence import Array, Direction, Product, recurrence


class _Recurrent(OpRun):
    def _run(
        self, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h0: Any = None, c0: Any = None,
        p: Any = None, **a: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        batch_first = bool(a.get("layout"))
        if batch_first:
            x = x.swapaxes(0, 1)
            h0, c0 = (None if s is None else s.swapaxes(0, 1) for s in (h0, c0))
        directions = [
            Direction(_times(w[d]), _times(r[d]), None if b is None else b[d], None if p is None else p[d])
            for d in range(w.shape[0])
        ]
        y, h, c = recurrence(self.onnx_node.op_type, x, r.shape[-1], directions, a, lengths, h0, c0)
        if batch_first:
            y, h, c = y.transpose(2, 0, 1, 3), h.swapaxes(0, 1), c.swapaxes(0, 1)
        return (y, h, c)[: len(self.onnx_node.output)]


def _times(weights: Array) -> Product:
    """x times the transposed weights."""
    return lambda x: x @ weights.T


class RNN(_Recurrent):
    pass


class GRU(_Recurrent):
    pass


class LSTM(_Recurrent):
    pass
