"""Inputs that a proof tries: odd shapes and tails, ordinary values, and the values that kernels forget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ascend_ep.codegen.leading import MOST_DIMS
from ascend_ep.element_types import numpy_dtype
from ascend_ep.opbuild.proof.footprint import footprint, work_of
from ascend_ep.opbuild.proof.harness import Array, Case
from ascend_ep.opbuild.proof.sizes import Dims, Sizes, free_sizes
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import Input, Take
from ascend_ep.opdef.formula_shape import ShapeScope
from ascend_ep.opdef.moves import single_axis
from ascend_ep.opdef.shape_rule import Inapplicable

#: Sizes of the last dimension: around the lengths of vectors (4 to 16, unrolled to 64), and a long one.
TAILS = (1, 2, 3, 5, 7, 8, 15, 17, 31, 33, 63, 64, 65, 100, 129, 1030)
#: Sizes that other dimensions take one after the other.
OTHERS = (3, 1, 5, 2)
#: Leading dimensions that are tried.
LEADS: tuple[tuple[int, ...], ...] = ((), (3,), (2, 3), (3, 1, 2), (2, 1, 2, 3), (2, 2, 1, 3, 1))
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
#: Bytes that the reference of one case may take, with its bound; and those that stay of it.
MOST_BYTES = 160 << 20
MOST_KEPT = 24 << 20


def small_cases(subject: Subject, seed: int = 0) -> list[Case]:
    """Every tail, with ordinary values and with corners; then no elements, the shape built for, and other
    ranks where the form allows them. None takes more than MOST_BYTES: larger ones are made smaller, and left
    out where that can't be. Raises NotGenerated."""
    rng = np.random.default_rng(seed)
    free = free_sizes(subject)
    count = len(free.built)
    found: list[Case | None] = []
    for i in range(len(TAILS)):
        sizes = [OTHERS[(i + k) % len(OTHERS)] for k in range(count)]
        for k, row in enumerate(free.rows):
            sizes[row] = TAILS[(i + 5 * k) % len(TAILS)]
        kind = ("ordinary", "corners", "positive", "corners")[i % 4]
        found.append(_case(subject, free, free.allowed(sizes), kind, rng))
    if _elements(subject) <= MOST_ELEMENTS and _fits(subject, free.dims(free.built)):
        found += [_case(subject, free, free.built, kind, rng) for kind in ("ordinary", "corners")]
    if count:
        found.append(_case(subject, free, [0, *free.allowed([2] * count)[1:]], "ordinary", rng))
    found += _other_ranks(subject, free, rng)
    return [case for case in found if case is not None]


def large_case(subject: Subject, seed: int = 1) -> Case | None:
    """One that is divided among threads: the first dimension grows. None when there is room for none.
    Raises NotGenerated."""
    free = free_sizes(subject)
    sizes = free.allowed([min(d, 67) for d in free.built])
    if sizes:
        least, most = THREADED_ELEMENTS
        elements = min(max(least, THREADED_WORK // work_of(subject.program)), most)
        sizes[0] = max(sizes[0] if free.least[0] else 1, elements // math.prod(sizes[1:])) | 1
    return _case(subject, free, sizes, "ordinary", np.random.default_rng(seed))


def _fits(subject: Subject, dims: Dims) -> bool:
    needed = footprint(subject, dims)
    return needed.peak <= MOST_BYTES and needed.kept <= MOST_KEPT


def _elements(subject: Subject) -> int:
    return max((math.prod(t.dims) for t in subject.inputs if t is not None), default=0)


def _case(
    subject: Subject, free: Sizes, sizes: Sequence[int], kind: str, rng: np.random.Generator
) -> Case | None:
    fitting = free.shrunk(sizes, lambda dims: _fits(subject, dims))
    if fitting is None:
        return None
    return _filled(subject, free.dims(fitting), kind, rng)


def _filled(subject: Subject, dims: Dims, kind: str, rng: np.random.Generator) -> Case:
    """Inputs of these dims with values of a kind."""
    lengths = _taken_from(subject, dict(zip(subject.names, dims, strict=False)))
    arrays = [
        None
        if spec is None or shape is None
        else rng.integers(-lengths[name], lengths[name], shape).astype(numpy_dtype(spec.dtype))
        if lengths.get(name)
        else values(rng, shape, spec.dtype, kind)
        for name, spec, shape in zip(subject.names, subject.inputs, dims, strict=False)
    ]
    shapes = ", ".join(str(list(a.shape)) for a in arrays if a is not None)
    return Case(tuple(arrays), f"{subject.label} {shapes}, {kind} values")


def _other_ranks(subject: Subject, free: Sizes, rng: np.random.Generator) -> Iterator[Case]:
    """Cases with other leading dimensions than were built for, which inputs have all of, or as broadcasting
    allows."""
    form = subject.form
    sizes = free.allowed([OTHERS[i % len(OTHERS)] + 1 for i in range(len(free.built))])
    built = free.dims(sizes)
    for number, lead in enumerate(LEADS if form.groups else ()):
        dims: Dims = []
        for i, shape in enumerate(built):
            own = () if shape is None else shape[len(shape) - form.own[i] :]
            mine = lead if not form.spreads else _broadcast(lead, number + i)
            ones = (1,) * (number % 2 if i not in form.exact and len(lead) > 1 else 0)
            dims.append(None if shape is None else (*(mine if i in form.leading else ones), *own))
        if max(len(d) for d in dims if d is not None) <= MOST_DIMS and _fits(subject, dims):
            yield _filled(subject, dims, ("ordinary", "corners")[number % 2], rng)


def _broadcast(lead: tuple[int, ...], way: int) -> tuple[int, ...]:
    """Leading dimensions that broadcast to these: themselves, fewer, or some of 1."""
    if way % 3 == 1:
        return lead[1:]
    return tuple(1 if way % 3 == 2 and k % 2 else d for k, d in enumerate(lead))


def _taken_from(subject: Subject, dims: Mapping[str, tuple[int, ...] | None]) -> dict[str, int]:
    """Per input of indices, how many elements the shortest axis has that they take from."""
    scope = ShapeScope({n: d for n, d in dims.items() if d is not None})
    found: dict[str, int] = {}
    program = subject.program
    try:
        for name, value in program.lets:
            scope.locals[name] = scope.shape(value)
        for node in program.expressions():
            if isinstance(node, Take) and isinstance(node.indices, Input):
                shape = scope.shape(node.arg)
                length = shape[single_axis(node.axis, len(shape))]
                assert isinstance(length, int), "the inputs' dims are numbers"
                found[node.indices.name] = min(length, found.get(node.indices.name, length))
    except Inapplicable:
        return {}
    return found


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
