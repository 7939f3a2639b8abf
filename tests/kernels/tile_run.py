"""One elementwise program from a lambda, built, encoded and run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from kernel_call import DTYPES, call

from ascend_ep.plan.tile_encoding import encode, schedule
from ascend_ep.plan.tile_program import TileProgram, Value

Build = Callable[..., Value]


class Encoded(NamedTuple):
    inputs: tuple[Any, ...]
    ints: tuple[int, ...]
    floats: tuple[float, ...]


def encoded_program(p: TileProgram[Any]) -> Encoded:
    """The program as the kernel takes it, and the inputs that it reads."""
    computed = p.finish()
    ints, floats = encode(schedule(computed.expressions, computed.types))
    return Encoded(computed.inputs, tuple(int(str(i)) for i in ints), floats)


def run(
    build: Build, *inputs: np.ndarray, out: Any = None, isa: int | None = None, threads: int = 2
) -> np.ndarray:
    """build(program, values...) over broadcast inputs, stored as `out` (default: the first input's type)."""
    p: TileProgram[int] = TileProgram()
    value = build(p, *(p.input(i, DTYPES[a.dtype]) for i, a in enumerate(inputs)))
    dtype = np.dtype(out if out is not None else inputs[0].dtype)
    p.output(value, DTYPES[dtype])
    encoded = encoded_program(p)
    arrays = [inputs[i] for i in encoded.inputs]
    shape = np.broadcast_shapes(*(a.shape for a in inputs))
    return call("elementwise", arrays, [(dtype, shape)], encoded.ints, encoded.floats, isa, threads)[0]
