"""Random inputs for the self-check that a bundle carries."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.errors import AscendError
from ascend_ep.opdef.constraints import agreeing_sizes
from ascend_ep.opdef.dims import evaluate, static, symbols
from ascend_ep.plan.plan import Edge, Plan, Sample
from ascend_ep.runtime.bundle import SIZES

#: The size of a free dimension in samples, within its range.
FREE_SIZE = 2
#: Sizes that are tried when the model doesn't take that one, though nothing said so.
OTHER_SIZES = (1, 8, 32, 224)
#: Samples are left out of models whose inputs and outputs are larger than this.
MAX_BYTES = 64 << 20


class OtherShapes(Exception):
    """A run gave outputs of other shapes than the model declares where nothing else is known of them."""


def bindings(
    plan: Plan, size: int = FREE_SIZE, hints: Mapping[int, Sequence[int]] | None = None
) -> dict[str, int]:
    """A size for every free dimension, within its range: of the first profile if there are some, of `hints`
    (shapes by position of the input), else `size` or what agrees with the others.

    Raises AscendError E10001 for a hint that isn't a shape of its input.
    """
    ranges = {name: (r.min, r.max) for name, r in plan.symbols.items()}
    hinted = {
        name: max(r.min, min(n, r.max if r.max is not None else n))
        for name, n in _hinted(plan, hints or {}).items()
        for r in (plan.symbols[name],)
    }
    fixed = hinted | dict(plan.profiles[0] if plan.profiles else {})
    return agreeing_sizes(plan.symbols, fixed, plan.constraints, ranges, size)


def _hinted(plan: Plan, hints: Mapping[int, Sequence[int]]) -> dict[str, int]:
    """The sizes of symbols that shapes of inputs give."""
    found: dict[str, int] = {}
    inputs = [e for e in plan.edges if e.is_input]
    for position, sizes in hints.items():
        dims = inputs[position].dims if position < len(inputs) else None
        fits = dims is not None and len(dims) == len(sizes)
        for dim, size in zip(dims or (), sizes, strict=False):
            wanted = found.setdefault(str(dim), size) if str(dim) in plan.symbols else static(dim)
            fits = fits and wanted in (size, None)
        if not fits:
            given = f"{position}:[{','.join(map(str, sizes))}]"
            there = "no such input" if dims is None else f"[{', '.join(map(str, dims))}] there"
            raise AscendError("E10001", given, "--input_hint_shape", f"the model has {there}.")
    return found


def random_inputs(
    edges: Sequence[Edge], sizes: Mapping[str, int], seed: int, images: Collection[str] = ()
) -> dict[str, NDArray[np.generic]] | None:
    """An array for each input edge: normal floats, integers 0 and 1 (in `images` 0 to 255).

    None when one is no numeric tensor.
    """
    generator = np.random.default_rng(seed)
    found: dict[str, NDArray[np.generic]] = {}
    for edge in edges:
        if (
            edge.dtype == 0
            or edge.dtype == ir.DataType.STRING.value
            or edge.dtype > ir.DataType.BFLOAT16.value
        ):
            return None
        dtype = ir.DataType(edge.dtype).numpy()
        shape = [evaluate(d, sizes) for d in edge.dims]
        if any(n < 0 for n in shape) or np.prod(shape, dtype=float) * dtype.itemsize > MAX_BYTES:
            return None
        if dtype.kind in "biu":
            array = generator.integers(0, 256 if edge.name in images else 2, shape).astype(dtype)
            if array.ndim > 1 and edge.name not in images:  # no mask hides or shows everything: what -1e9
                array[..., :1] = 1  # leaves of scores is up to rounding
                array[..., 1:2] = 0
            found[edge.name] = array
        else:
            found[edge.name] = generator.standard_normal(shape).astype(dtype)
    return found


def reserve(
    plan: Plan,
    seed: int,
    images: Collection[str] = (),
    hints: Mapping[int, Sequence[int]] | None = None,
    size: int = FREE_SIZE,
) -> bool:
    """Gives the plan sample inputs, and zeros where their outputs will be; free dimensions are about `size`.

    False, and there are none, when sizes of inputs or outputs can't be known before a run, or are too large
    to store. The sizes of free dimensions are kept even then.
    """
    plan.samples.clear()
    inputs = [e for e in plan.edges if e.is_input]
    outputs = [e for e in plan.edges if e.is_output]
    given = {name for e in inputs for name in symbols(e.dims)}
    sizes = bindings(plan, size, hints)
    if given:
        plan.meta[SIZES] = json.dumps({name: n for name, n in sizes.items() if name in given})
    if not symbols([d for e in outputs for d in e.dims]) <= given:
        return False
    arrays = random_inputs(inputs, sizes, seed, images)
    zeros = random_inputs(outputs, sizes, seed)
    if arrays is None or zeros is None:
        return False
    plan.samples += [Sample(e, arrays[e.name]) for e in inputs]
    plan.samples += [Sample(e, np.zeros_like(zeros[e.name])) for e in outputs]
    return True


def check_shapes(plan: Plan, results: Sequence[NDArray[np.generic]]) -> None:
    """Raises OtherShapes, having made room for these outputs, where they aren't as `reserve` expected."""
    expected = [s for s in plan.samples if s.edge.is_output]
    wrong = [
        (sample, result)
        for sample, result in zip(expected, results, strict=False)
        if sample.array.shape != result.shape
    ]
    for sample, result in wrong:
        sample.array = np.zeros_like(result)
    if wrong:
        raise OtherShapes
