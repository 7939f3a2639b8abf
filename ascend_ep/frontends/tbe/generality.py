"""From recordings with several shapes to one program: sizes by name, if it holds for other shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.frontends.tbe.recording import Recording, TensorText
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import AttributeValue
from ascend_ep.opdef.elementwise import Array
from ascend_ep.opdef.expression import (
    Apply,
    Constant,
    Expression,
    Index,
    Input,
    Program,
    children,
    with_children,
)
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.reference import evaluate_program

MAX_EVALUATED = 1 << 20
Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Sample:
    """A recording and the inputs' shapes it was made with."""

    shapes: Shapes
    recording: Recording


def general_program(base: Sample, others: Sequence[Sample]) -> Program | None:
    """The program that every sample is, its sizes by name; None when they differ otherwise."""
    formulas = {s.recording.formula for s in (base, *others)}
    if len(formulas) == 1:
        return base.recording.program
    samples = [base, *others]
    parts = [_without_numbers(s.recording.program) for s in samples]
    if len({text for text, _ in parts}) > 1 or len(samples) < 3:
        return None
    columns = list(zip(*(numbers for _, numbers in parts), strict=True))
    replaced: dict[int, Expression] = {}
    for i, values in enumerate(columns):
        if len(set(values)) > 1:
            named = _size_of(values, samples)
            if named is None:
                return None
            replaced[i] = named
    return _with_numbers(base.recording.program, replaced)


# ---- numbers that are sizes ------------------------------------------------------------------------


def _without_numbers(program: Program) -> tuple[str, list[float]]:
    """The program's text with every number 0, and the numbers."""
    numbers: list[float] = []

    def note(value: float) -> Expression:
        numbers.append(value)
        return Constant(0.0)

    return program_text(_mapped(program, note)), numbers


def _with_numbers(program: Program, replaced: Mapping[int, Expression]) -> Program:
    count = iter(range(1 << 30))
    return _mapped(program, lambda value: replaced.get(next(count), Constant(value)))


def _mapped(program: Program, change: Callable[[float], Expression]) -> Program:
    def node(e: Expression) -> Expression:
        if isinstance(e, Constant):
            plain = isinstance(e.value, int | float) and not isinstance(e.value, bool)
            return change(float(e.value)) if plain else e
        return with_children(e, [node(c) for c in children(e)])

    return Program(
        tuple((n, node(v)) for n, v in program.lets), tuple((n, node(v)) for n, v in program.outputs)
    )


#: What files compute from a number of elements: its value, and the expression of it.
_FORMS: tuple[tuple[Callable[[float], float], Callable[[Expression], Expression]], ...] = (
    (lambda n: n, lambda e: e),
    (lambda n: 1 / n, lambda e: Apply("div", (Constant(1.0), e))),
    (lambda n: n - 1, lambda e: Apply("sub", (e, Constant(1.0)))),
    (lambda n: 1 / (n - 1), lambda e: Apply("div", (Constant(1.0), Apply("sub", (e, Constant(1.0)))))),
    (lambda n: n / (n - 1), lambda e: Apply("div", (e, Apply("sub", (e, Constant(1.0)))))),
    (math.sqrt, lambda e: Apply("sqrt", (e,))),
    (lambda n: 1 / math.sqrt(n), lambda e: Apply("rsqrt", (e,))),
)  # fmt: skip


def _size_of(values: Sequence[float], samples: Sequence[Sample]) -> Expression | None:
    """An expression of sizes that has these values, one for each sample."""
    sign = -1.0 if values[0] < 0 else 1.0
    for sizes, expression in _products(samples):
        for compute, build in _FORMS:
            try:
                wanted = [sign * compute(float(n)) for n in sizes]
            except (ZeroDivisionError, ValueError):
                continue
            if all(math.isclose(v, w, rel_tol=1e-6) for v, w in zip(values, wanted, strict=True)):
                found = build(expression)
                return Apply("neg", (found,)) if sign < 0 else found
    return None


def _products(samples: Sequence[Sample]) -> Iterator[tuple[list[int], Expression]]:
    """Products of dimensions of one input, the fewest factors first: their values, and their expression."""
    names = [t.name for t in samples[0].recording.inputs]
    for count in range(1, 7):
        for i, name in enumerate(names):
            rank = len(samples[0].shapes[i])
            for axes in combinations(range(-1, -rank - 1, -1), count):
                sizes = [math.prod(s.shapes[i][a] for a in axes) for s in samples]
                if len(set(sizes)) > 1:
                    expression: Expression = Index(Input(name), axes[0], size=True)
                    for a in axes[1:]:
                        expression = Apply("mul", (expression, Index(Input(name), a, size=True)))
                    yield sizes, expression


# ---- the program against what was recorded ---------------------------------------------------------


def is_small(sample: Sample) -> bool:
    """Whether its values can be computed, so that check_sample tells something."""
    sizes = [math.prod(s) for s in (*sample.shapes, *(t.shape for t in sample.recording.outputs))]
    return max(sizes, default=1) <= MAX_EVALUATED


def check_sample(program: Program, sample: Sample, attributes: Mapping[str, AttributeValue]) -> str:
    """Why `program` over the inputs' shapes isn't what the recording is over its placeholders'; "" if it is,
    or the sample isn't small. A file may merge or split dimensions for its placeholders; an elementwise
    operator doesn't mind."""
    recording = sample.recording
    if not is_small(sample):
        return ""
    rng = np.random.default_rng(7)
    own, placed = {}, {}
    for tensor, shape in zip(recording.inputs, sample.shapes, strict=True):
        if math.prod(shape) != math.prod(tensor.shape):
            return f"{tensor.name} of shape {list(shape)} is declared as {list(tensor.shape)}"
        array = _values(rng, tensor)
        placed[tensor.name] = array
        own[tensor.name] = array.reshape(shape)
    try:
        recorded = evaluate_program(recording.concrete, placed, attributes)
        general = evaluate_program(program, own, attributes)
    except AscendError as error:
        return error.text
    for tensor, wanted, got in zip(recording.outputs, recorded, general, strict=True):
        if wanted.shape != tensor.shape and not (wanted.size == 1 and math.prod(tensor.shape) == 1):
            return (
                f"{tensor.name} has the shape {list(wanted.shape)}, where the file has {list(tensor.shape)}"
            )
        if wanted.size != got.size or not np.allclose(
            wanted.ravel().astype(float), got.ravel().astype(float), rtol=1e-9, atol=1e-12, equal_nan=True
        ):
            placeholders = ", ".join(f"{t.name} {list(t.shape)}" for t in recording.inputs)
            return f"it depends on the shapes that the file gives its placeholders ({placeholders})"
    return ""


def _values(rng: np.random.Generator, tensor: TensorText) -> Array:
    if tensor.dtype == dtypes.BOOL:
        return rng.random(tensor.shape) < 0.5
    if tensor.dtype in dtypes.FLOATS:
        return rng.uniform(-2, 2, tensor.shape)
    return rng.integers(0 if tensor.dtype in dtypes.UNSIGNED else -9, 9, tensor.shape).astype(np.float64)
