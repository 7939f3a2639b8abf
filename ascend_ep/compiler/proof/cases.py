"""Inputs that a proof tries: odd shapes and tails, ordinary values, and the values that kernels forget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_ep.compiler.operators.measure import work_of
from ascend_ep.compiler.proof.harness import Array, Case
from ascend_ep.compiler.proof.subject import Subject
from ascend_ep.opdef import dtypes
from ascend_ep.runtime.element_types import numpy_dtype

#: Sizes of the last dimension: around the lengths of vectors (4 to 16, unrolled to 64), and a long one.
TAILS = (1, 2, 3, 5, 7, 8, 15, 17, 31, 33, 63, 64, 65, 100, 129, 1030)
#: Sizes that other dimensions take in turn.
OTHERS = (3, 1, 5, 2)
#: Zeros, numbers near 1 and near the ends of every type, subnormals of float32 and float16, infinities, NaN.
CORNERS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-40, -1e-40, 6e-8, -6e-8, 1.2e-38, 6.1e-5, 88.0, -88.0, 104.0, -104.0,
    65504.0, -65504.0, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan, 1e-3, 12.0, -12.0, 1e7,
)  # fmt: skip
#: The built shape is tried up to this many elements.
MOST_ELEMENTS = 1 << 17
#: One case is divided among threads: it has so many operations, and elements within these limits.
THREADED_WORK = 1 << 21
THREADED_ELEMENTS = (1 << 14, 1 << 18)


def small_cases(subject: Subject, seed: int = 0) -> list[Case]:
    """Every tail, with ordinary values and with corners; then no elements, and the shape built for."""
    rng = np.random.default_rng(seed)
    sizes = _sizes(subject)
    found = []
    for i, tail in enumerate(TAILS):
        new = {d: OTHERS[(i + k) % len(OTHERS)] for k, d in enumerate(sizes)}
        if sizes:
            new[sizes[-1]] = tail
        kind = ("ordinary", "corners", "positive", "corners")[i % 4]
        found.append(_case(subject, new, kind, rng))
    found += [
        _case(subject, {}, kind, rng)
        for kind in ("ordinary", "corners")
        if _elements(subject) <= MOST_ELEMENTS
    ]
    if sizes:
        found.append(_case(subject, {**dict.fromkeys(sizes, 2), sizes[0]: 0}, "ordinary", rng))
    return found


def large_case(subject: Subject, seed: int = 1) -> Case:
    """One that is divided among threads: the dimensions grow from the first on."""
    sizes = _sizes(subject)
    new = {d: min(d, 67) for d in sizes}
    if sizes:
        least, most = THREADED_ELEMENTS
        elements = min(max(least, THREADED_WORK // work_of(subject.program)), most)
        rest = int(np.prod([new[d] for d in sizes[1:]] or [1]))
        new[sizes[0]] = max(1, elements // rest) | 1
    return _case(subject, new, "ordinary", np.random.default_rng(seed))


def _sizes(subject: Subject) -> list[int]:
    """The distinct sizes other than 1; equal ones change together. Last: that of the longest input's rows."""
    given = sorted((t.dims for t in subject.inputs if t is not None), key=len, reverse=True)
    found = list(dict.fromkeys(d for dims in given for d in dims if d != 1))
    last = next((dims[-1] for dims in given if dims and dims[-1] != 1), None)
    if last is not None:
        found.remove(last)
        found.append(last)
    return found


def _elements(subject: Subject) -> int:
    return max((int(np.prod(t.dims)) for t in subject.inputs if t is not None), default=0)


def _case(subject: Subject, new: dict[int, int], kind: str, rng: np.random.Generator) -> Case:
    arrays: list[Array | None] = []
    for spec in subject.inputs:
        if spec is None:
            arrays.append(None)
            continue
        shape = tuple(new.get(d, d) for d in spec.dims)
        arrays.append(values(rng, shape, spec.dtype, kind))
    shapes = ", ".join(str(list(a.shape)) for a in arrays if a is not None)
    name = dtypes.name(subject.dtype)
    return Case(tuple(arrays), f"{name} {shapes}, {kind} values")


def values(rng: np.random.Generator, shape: Sequence[int], dtype: int, kind: str) -> Array:
    """ordinary: of magnitudes around 1. positive: those without signs. corners: a third from CORNERS."""
    if dtype not in dtypes.FLOATS:
        high = 2 if dtype == dtypes.BOOL else 100
        low = 0 if dtype == dtypes.BOOL or dtype in dtypes.UNSIGNED else -100
        return np.asarray(rng.integers(low, high, shape)).astype(numpy_dtype(dtype))
    array = np.asarray(rng.standard_normal(shape) * np.exp(rng.uniform(-3, 2, shape)))
    if kind == "positive":
        array = np.abs(array)
    if kind == "corners" and array.size:
        flat = array.reshape(-1)
        count = max(1, flat.size // 3)
        flat[rng.permutation(flat.size)[:count]] = rng.choice(CORNERS, count)
        array = flat.reshape(shape)
    with np.errstate(over="ignore"):
        return np.asarray(array, order="C").astype(numpy_dtype(dtype))
