"""Small inputs that an operator takes, for the tests of its project: found by asking its reference."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Attribute, OpDef
from ascend_ep.opdef.reference import evaluate

#: Shapes that are tried: first one for all inputs, then every combination.
SHAPES = ((2, 3, 4), (3, 4), (4,), (4, 4), (4, 2), (2,), (), (2, 2, 3, 4), (3, 2))
#: Ranges of numbers: where most functions are smooth, above 1, and both signs.
RANGES = ((0.1, 0.9), (1.1, 2.0), (-2.0, 2.0))
MOST_TRIES = 3000
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Sample:
    """Shapes of the inputs, None for an absent one; the range of their numbers; and values of attributes that
    have no default."""

    shapes: tuple[Shape | None, ...]
    low: float
    high: float
    attributes: dict[str, Any]

    def arrays(self, opdef: OpDef, seed: int = 0) -> list[Any]:
        """Random inputs, float64, or integers where the definition says so."""
        random = np.random.default_rng(seed)
        made: list[Any] = []
        for spec, shape in zip(opdef.inputs, self.shapes, strict=True):
            if shape is None:
                made.append(None)
            elif spec.types == (dtypes.BOOL,):
                made.append(random.integers(0, 2, shape).astype(np.bool_))
            elif spec.types and not set(spec.types) & set(dtypes.FLOATS):
                made.append(random.integers(0, 2, shape))
            else:
                made.append(random.uniform(self.low, self.high, shape))
        return made


def sample_inputs(opdef: OpDef) -> Sample | None:
    """Inputs whose results are numbers; None when none were found."""
    attributes = {
        a.name: _value(a) for a in opdef.attributes if a.required or (a.default is None and a.input)
    }
    tries = itertools.islice(_candidates(opdef), MOST_TRIES)
    for shapes, (low, high) in tries:
        sample = Sample(shapes, low, high, attributes)
        try:
            made = evaluate(opdef, sample.arrays(opdef), attributes)
        except AscendError:
            continue
        if all(np.isfinite(y).all() and y.size for y in made):
            return sample
    return None


def _candidates(opdef: OpDef) -> Iterator[tuple[tuple[Shape | None, ...], tuple[float, float]]]:
    said = {a.input for a in opdef.attributes if a.input}  # an attribute says the same
    given = [t for t in opdef.inputs if t.name not in said]

    def shapes(chosen: tuple[Shape, ...]) -> tuple[Shape | None, ...]:
        left = iter(chosen)
        return tuple(None if t.name in said else next(left) for t in opdef.inputs)

    for limits in RANGES:
        for shape in SHAPES:
            yield shapes((shape,) * len(given)), limits
    for limits in RANGES[:1]:
        for chosen in itertools.product(SHAPES, repeat=len(given)):
            yield shapes(chosen), limits


def _value(attribute: Attribute) -> Any:
    if attribute.allowed:
        return attribute.allowed[0]
    value = {"int": 1, "float": 0.5, "bool": True, "string": ""}.get(attribute.type.removesuffix("s"), 1)
    return [value] if attribute.type.endswith("s") else value
