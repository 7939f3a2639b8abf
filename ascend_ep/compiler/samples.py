"""Random inputs for the self-check that a bundle carries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.opdef.dims import evaluate, symbols

from .plan import Edge, Plan, Sample

#: The size of a free dimension in samples, within its range.
FREE_SIZE = 2
#: Samples are left out of models whose inputs and outputs are larger than this.
MAX_BYTES = 64 << 20


def bindings(plan: Plan, size: int = FREE_SIZE) -> dict[str, int]:
    """A size for every free dimension; that of the first profile if there are some."""
    sizes = {
        name: max(r.min, min(size, r.max if r.max is not None else size)) for name, r in plan.symbols.items()
    }
    return sizes | dict(plan.profiles[0] if plan.profiles else {})


def random_inputs(
    edges: Sequence[Edge], sizes: Mapping[str, int], seed: int, images: Collection[str] = ()
) -> dict[str, NDArray[np.generic]] | None:
    """An array for each input edge: normal floats, integers 0 and 1 (in `images` 0 to 255).

    None when one is no numeric tensor.
    """
    generator = np.random.default_rng(seed)
    found: dict[str, NDArray[np.generic]] = {}
    for edge in edges:
        if edge.dtype == 0 or edge.dtype == ir.DataType.STRING.value:
            return None
        dtype = ir.DataType(edge.dtype).numpy()
        shape = [evaluate(d, sizes) for d in edge.dims]
        if any(n < 0 for n in shape) or np.prod(shape, dtype=float) * dtype.itemsize > MAX_BYTES:
            return None
        if dtype.kind in "biu":
            found[edge.name] = generator.integers(0, 256 if edge.name in images else 2, shape).astype(dtype)
        else:
            found[edge.name] = generator.standard_normal(shape).astype(dtype)
    return found


def reserve(plan: Plan, seed: int, images: Collection[str] = ()) -> bool:
    """Adds sample inputs, and zeros where their outputs will be, to the plan.

    False when the sizes of inputs or outputs can't be known before a run, or are too large to store.
    """
    inputs = [e for e in plan.edges if e.is_input]
    outputs = [e for e in plan.edges if e.is_output]
    given = {name for e in inputs for name in symbols(e.dims)}
    if not symbols([d for e in outputs for d in e.dims]) <= given:
        return False
    sizes = bindings(plan)
    arrays = random_inputs(inputs, sizes, seed, images)
    zeros = random_inputs(outputs, sizes, seed)
    if arrays is None or zeros is None:
        return False
    plan.samples += [Sample(e, arrays[e.name]) for e in inputs]
    plan.samples += [Sample(e, np.zeros_like(zeros[e.name])) for e in outputs]
    return True
