"""What the description of a built library promises (`takes`), read as a stranger would read it, and calls
that keep to it or don't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

Dims = tuple[int, ...]
MOST_DIMS = 8
KINDS = ("float32", "float16", "bfloat16", "float64", "int32", "int64", "int8")


def promised(takes: Mapping[str, Any], kinds: Sequence[str], shapes: Sequence[Dims]) -> bool:
    """Whether inputs of these element types and shapes are taken."""
    inputs = takes["inputs"]
    names = [i["name"] for i in inputs]
    if not any([types[n] for n in names] == list(kinds) for types in takes["types"]):
        return False
    sizes: dict[str, int] = {}
    leads: list[Dims] = []
    equal: set[Dims] = set()
    ones, most = [0], 0
    for given, dims in zip(inputs, shapes, strict=True):
        leading = [part for part in given["shape"] if part in ("...", "same...", "1...")]
        own = given["shape"][len(leading) :]
        if len(dims) < len(own) or (not leading and len(dims) != len(own)):
            return False
        lead, rest = dims[: len(dims) - len(own)], dims[len(dims) - len(own) :]
        if leading == ["1..."] and set(lead) - {1}:
            return False
        leads.append(lead)
        ones.append(len(lead) if leading == ["1..."] else 0)
        most = max(most, len(lead) if leading != ["1..."] else 0)
        equal |= {lead} if leading == ["same..."] else set()
        for wanted, size in zip(own, rest, strict=True):
            if size != (wanted if isinstance(wanted, int) else sizes.setdefault(wanted, size)):
                return False
    if any(sizes[name] < least for name, least in takes["least"].items()):
        return False
    return broadcast(leads) is not None and len(equal) <= 1 and max(ones) <= most


def broadcast(shapes: Sequence[Dims]) -> Dims | None:
    """The shape that these broadcast to, or None."""
    found = [1] * max(map(len, shapes), default=0)
    for dims in shapes:
        for i, size in enumerate(dims, len(found) - len(dims)):
            if size != 1 and found[i] not in (1, size):
                return None
            found[i] = size if size != 1 else found[i]
    return tuple(found)


def call(takes: Mapping[str, Any], random: Random) -> tuple[list[str], list[Dims]]:
    """Element types and shapes that are promised, but for a mistake in about every third call."""
    types = random.choice(takes["types"])
    kinds = [types[i["name"]] for i in takes["inputs"]]
    lead = tuple(random.choice((1, 2, 3, 4)) for _ in range(random.randint(0, 4)))
    least = takes["least"]
    sizes: dict[str, int] = {}
    shapes = []
    for given in takes["inputs"]:
        dims: list[int] = []
        for part in given["shape"]:
            if part == "...":
                dims += _narrowed(lead, random)
            elif part == "same...":
                dims += lead
            elif part == "1...":
                dims += [1] * random.randint(0, 2)
            elif isinstance(part, int):
                dims.append(part)
            else:
                dims.append(
                    sizes.setdefault(part, max(least.get(part, 0), random.choice((0, 1, 2, 5, 17, 33))))
                )
        shapes.append(tuple(dims))
    if random.random() < 0.35 and shapes:
        at = random.randrange(len(shapes))
        if random.random() < 0.4:
            kinds[at] = random.choice(KINDS)
        else:
            shapes[at] = _changed(shapes[at], random)
    return kinds, shapes


def _narrowed(lead: Dims, random: Random) -> list[int]:
    """Dimensions that broadcast to these."""
    way = random.randrange(4)
    if way == 1:
        return list(lead[random.randint(0, len(lead)) :])
    return [1 if way == 2 and random.random() < 0.5 else d for d in lead]


def _changed(dims: Dims, random: Random) -> Dims:
    """With a dimension more, less, or of another size."""
    way = random.randrange(3)
    if way == 0 or not dims:
        return (random.choice((1, 2)), *dims)
    if way == 1:
        return dims[1:]
    at = random.randrange(len(dims))
    return (*dims[:at], dims[at] + random.choice((1, 2)), *dims[at + 1 :])
