"""The other shapes, types and attributes that an operator is recorded with, to see what depends on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import AttributeValue

Shapes = tuple[tuple[int, ...], ...]
#: Sizes for dimensions, far enough apart that no two products of a few are the same.
_SIZES = ((5, 7, 11, 13, 17, 19, 23), (13, 3, 29, 7, 31, 5, 37))
MAX_RANK = 8
MAX_ELEMENTS = 1 << 22
#: The largest integer that an attribute is tried with, as files loop up to one.
MAX_PROBE = 1 << 16


@dataclass(frozen=True)
class Job:
    """One run of the operator. `about`: base, shape, rank, dtype, or the attribute that differs."""

    about: str
    shapes: Shapes
    dtypes: tuple[int, ...]
    attributes: Mapping[str, AttributeValue]

    def request(self) -> dict[str, Any]:
        """What the process is told."""
        return {
            "shapes": [list(s) for s in self.shapes],
            "dtypes": [dtypes.name(t) for t in self.dtypes],
            "attributes": {k: list(v) if isinstance(v, tuple) else v for k, v in self.attributes.items()},
        }


def held_type(kinds: Sequence[int]) -> int | None:
    """The floating-point type that the operator is generic over: the first input's that has one."""
    return next((k for k in kinds if k in dtypes.COMPUTE_FLOATS), None)


def jobs(base: Job) -> list[Job]:
    """The base, other shapes of the same ranks, a higher rank, and other floating-point types."""
    made = [base]
    for shapes in dict.fromkeys(_other_shapes(base.shapes)):
        if shapes != base.shapes and all(_elements(s) <= MAX_ELEMENTS for s in shapes):
            made.append(Job("shape", shapes, base.dtypes, base.attributes))
    most = max(map(len, base.shapes), default=0)
    if 0 < most < MAX_RANK and all(_elements(s) <= MAX_ELEMENTS for s in base.shapes):
        higher = tuple((3, *s) if len(s) == most else s for s in base.shapes)
        made.append(Job("rank", higher, base.dtypes, base.attributes))
    held = held_type(base.dtypes)
    for kind in dtypes.COMPUTE_FLOATS:
        if held is not None and kind != held:
            kinds = tuple(kind if t == held else t for t in base.dtypes)
            made.append(Job("dtype", base.shapes, kinds, base.attributes))
    return made


def _other_shapes(shapes: Shapes) -> Iterator[Shapes]:
    """Equal sizes stay equal. Sizes of 1 stay, then grow where every input has 1; last, multiples of all
    sizes: for a file that takes only multiples of something."""
    distinct = list(dict.fromkeys(d for s in shapes for d in s if d > 1))
    if not distinct and not any(shapes):
        return
    for turn, sizes in enumerate(_SIZES):
        fresh = iter([n for n in sizes if n not in distinct] + [41 + 6 * i for i in range(len(distinct))])
        mapped = {d: next(fresh) for d in distinct}
        free = _free_ones(shapes) if turn else frozenset()
        yield tuple(
            tuple(mapped.get(d, 3 if a - len(s) in free else 1) for a, d in enumerate(s)) for s in shapes
        )
    for factor in (2, 3):
        yield tuple(tuple(d * factor if d > 1 else d for d in s) for s in shapes)


def _free_ones(shapes: Shapes) -> frozenset[int]:
    """The axes, from the end, along which every input has the size 1."""
    axes = {a - len(s) for s in shapes for a in range(len(s))}
    return frozenset(axis for axis in axes if all(s[axis] == 1 for s in shapes if len(s) >= -axis))


def _elements(shape: Sequence[int]) -> int:
    total = 1
    for d in shape:
        total *= d
    return total


def attribute_jobs(base: Job, compared: Mapping[str, Sequence[float]]) -> list[Job]:
    """The base with one attribute changed: to values on either side of what it was compared with."""
    made = []
    for name, value in base.attributes.items():
        for other in dict.fromkeys(_other_values(value, compared.get(name, ()))):
            if other != value:
                made.append(Job(name, base.shapes, base.dtypes, {**base.attributes, name: other}))
    return made


def _other_values(value: AttributeValue, compared: Sequence[float]) -> Iterator[AttributeValue]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        whole = [int(c) for c in compared if abs(c) <= MAX_PROBE]
        yield from (value + 1, value - 1, *(c + d for c in whole for d in (-1, 0, 1)))
    elif isinstance(value, float):
        yield from (value * 1.25 + 0.0625, value / 2, *(c + d for c in compared for d in (-0.5, 0.0, 0.5)))
