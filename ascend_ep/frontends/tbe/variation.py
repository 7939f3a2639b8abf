"""The other shapes, types and attributes that an operator is recorded with, to see what depends on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ascend_ep.frontends.tbe.layouts import Layout, any_rank, fixed_sizes
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import AttributeValue

Shapes = tuple[tuple[int, ...], ...]
#: Sizes for dimensions, far enough apart that no two products of a few are the same.
_SIZES = ((5, 7, 11, 13, 17, 19, 23), (13, 3, 29, 7, 31, 5, 37))
#: Others, in which fixed places of small tensors are no ends.
_LARGER = ((17, 19, 23, 29, 31, 37, 41), (26, 34, 22, 38, 46, 33, 58))
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
    layouts: tuple[Layout, ...] = ()

    def request(self) -> dict[str, Any]:
        """What the process is told."""
        return {
            "shapes": [list(s) for s in self.shapes],
            "dtypes": [dtypes.name(t) for t in self.dtypes],
            "attributes": {k: list(v) if isinstance(v, tuple) else v for k, v in self.attributes.items()},
            "layouts": [
                layout.described(shape)
                for layout, shape in zip(
                    self.layouts or [Layout()] * len(self.shapes), self.shapes, strict=True
                )
            ],
        }


def held_type(kinds: Sequence[int]) -> int | None:
    """The floating-point type that the operator is generic over: the first input's that has one."""
    return next((k for k in kinds if k in dtypes.COMPUTE_FLOATS), None)


def jobs(base: Job) -> list[Job]:
    """The base, other shapes of the same ranks, a higher rank unless layouts say what the dimensions are, and
    other floating-point types."""
    made = [base]
    for shapes, sizes in _other_shapes(base.shapes, fixed_sizes(base.layouts, base.shapes)):
        alike = any(shapes == job.shapes for job in made)
        if not alike and all(_elements(s) <= MAX_ELEMENTS for s in shapes):
            pairs = zip(base.layouts, base.shapes, strict=False)
            layouts = tuple(layout.resized(s, sizes) for layout, s in pairs)
            made.append(replace(base, about="shape", shapes=shapes, layouts=layouts))
    most = max(map(len, base.shapes), default=0)
    if 0 < most < MAX_RANK and any_rank(base.layouts, base.shapes):
        higher = tuple((3, *s) if len(s) == most else s for s in base.shapes)
        if all(_elements(s) <= MAX_ELEMENTS for s in higher):
            layouts = tuple(replace(layout, original=None) for layout in base.layouts)
            made.append(replace(base, about="rank", shapes=higher, layouts=layouts))
    held = held_type(base.dtypes)
    for kind in dtypes.COMPUTE_FLOATS:
        if held is not None and kind != held:
            kinds = tuple(kind if t == held else t for t in base.dtypes)
            made.append(replace(base, about="dtype", dtypes=kinds))
    return made


def _other_shapes(shapes: Shapes, fixed: Collection[int]) -> Iterator[tuple[Shapes, dict[int, int]]]:
    """Other sizes, and which became which. Equal sizes stay equal. Sizes of 1 stay, then grow where every
    input has 1; last, multiples of all sizes: for a file that takes only multiples of something."""
    distinct = list(dict.fromkeys(d for s in shapes for d in s if d > 1 and d not in fixed))
    if not distinct and not any(shapes):
        return
    for turn, sizes in enumerate(_SIZES):
        fresh = iter([n for n in sizes if n not in distinct] + [41 + 6 * i for i in range(len(distinct))])
        mapped = {d: next(fresh) for d in distinct} | {d: d for d in fixed}
        mapped |= {d * f: mapped[d] * f for d in distinct for f in fixed if d * f in mapped and d > 1}
        free = _free_ones(shapes) if turn else frozenset()
        yield (
            tuple(
                tuple(mapped.get(d, 3 if a - len(s) in free else 1) for a, d in enumerate(s)) for s in shapes
            ),
            mapped,
        )
    for factor in (2, 3):
        mapped = {d: d * factor for d in distinct}
        yield tuple(tuple(mapped.get(d, d) for d in s) for s in shapes), mapped


#: A size above 1, wherever inputs have it, or the place of a single 1: input and axis.
Size = int | tuple[int, int]


def sizes_of(base: Job) -> list[Size]:
    """The sizes of the inputs that may change each by itself: not those of blocks."""
    fixed = fixed_sizes(base.layouts, base.shapes)
    found = dict.fromkeys(d for s in base.shapes for d in s if d > 1 and d not in fixed)
    ones = [(i, a) for i, s in enumerate(base.shapes) for a, d in enumerate(s) if d == 1]
    return [*found, *ones]


def resized(base: Job, sizes: Sequence[Size], turn: int = 0) -> Job:
    """The base with other values of these sizes, all different."""
    fresh = iter([*_LARGER[turn % len(_LARGER)], *range(61 + turn, 4000, 6)])
    taken = {d for s in base.shapes for d in s}
    mapped = {size: next(n for n in fresh if n not in taken) for size in sizes}
    shapes = tuple(
        tuple(mapped.get(d, d) if d > 1 else mapped.get((i, a), 1) for a, d in enumerate(s))
        for i, s in enumerate(base.shapes)
    )
    values = {k: v for k, v in mapped.items() if isinstance(k, int)}
    pairs = zip(base.layouts, base.shapes, strict=False)
    layouts = tuple(layout.resized(s, values) for layout, s in pairs)
    return replace(base, about="size", shapes=shapes, layouts=layouts)


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
                made.append(replace(base, about=name, attributes={**base.attributes, name: other}))
    return made


def _other_values(value: AttributeValue, compared: Sequence[float]) -> Iterator[AttributeValue]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        whole = [int(c) for c in compared if abs(c) <= MAX_PROBE]
        yield from (value + 1, value - 1, *(c + d for c in whole for d in (-1, 0, 1)))
    elif isinstance(value, float):
        yield from (value * 1.25 + 0.0625, value / 2, *(c + d for c in compared for d in (-0.5, 0.0, 0.5)))
