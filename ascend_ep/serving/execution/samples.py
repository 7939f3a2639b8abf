"""Inputs to try a model with, of any number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ascend_ep.serving.datatypes import BYTES, DTYPES
from ascend_ep.serving.request import Array
from ascend_ep.serving.signature import Signature, TensorSpec

#: The size of a free dimension of which nothing is known.
_SIZE = 4


@dataclass
class Samples:
    """stored: the inputs that a bundle keeps for its self-check, by name; values are drawn from them, so that
    indices and lengths stay within what the model takes. sizes: of free dimensions, by name."""

    signature: Signature
    stored: Mapping[str, Array] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(0)
        known: dict[str, int] = {}
        for spec in self.signature.inputs:
            array = self.stored.get(spec.name)
            shape = array.shape if array is not None and array.ndim == len(spec.dims) else ()
            known |= {d: n for d, n in zip(spec.dims, shape, strict=False) if isinstance(d, str)}
        self.sizes = known | dict(self.sizes)

    def feed(self, rows: int | None = None) -> dict[str, Array]:
        """New random inputs; their first size is `rows` where it is free, else as the bundle's samples."""
        return {spec.name: self._values(spec, self._shape(spec, rows)) for spec in self.signature.inputs}

    def _shape(self, spec: TensorSpec, rows: int | None) -> tuple[int, ...]:
        shape = [d if isinstance(d, int) else self.sizes.get(d, _SIZE) for d in spec.dims]
        if rows is not None and spec.dims and isinstance(spec.dims[0], str):
            shape[0] = rows
        return tuple(shape)

    def _values(self, spec: TensorSpec, shape: tuple[int, ...]) -> Array:
        if spec.datatype == BYTES:
            return np.full(shape, "", object)
        dtype = DTYPES[spec.datatype]
        stored = self.stored.get(spec.name)
        drawn: Array | None = None
        if stored is not None and stored.size:
            drawn = stored.ravel()[self._random.integers(0, stored.size, shape)]
        if spec.datatype in ("FP16", "BF16", "FP32", "FP64"):
            noise = self._random.standard_normal(shape)
            if drawn is not None:
                real = drawn.astype(np.float64)
                noise = real + noise * (0.1 * float(real.std()) if real.size > 1 else 1.0)
            return noise.astype(dtype)
        return drawn if drawn is not None else self._random.integers(0, 2, shape).astype(dtype)
