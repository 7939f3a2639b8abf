"""Large constants that a model keeps in float16 and reads in float32."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir


class WidenedTensor(ir.LazyTensor):
    """`narrow`, a float16 tensor, as float32: made anew each time somebody reads it, and never kept."""

    __slots__ = ("narrow",)

    def __init__(self, narrow: ir.TensorProtocol, name: str | None) -> None:
        super().__init__(self._widen, ir.DataType.FLOAT, ir.Shape(narrow.shape.numpy()), name=name)
        self.narrow = narrow

    def _widen(self) -> ir.TensorProtocol:
        return ir.tensor(self.narrow.numpy().astype(np.float32))
