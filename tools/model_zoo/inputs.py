"""Inputs that a model can be given: sizes for its free axes, and values that mean something to it.

A rule makes the values of one input from a generator of random numbers, the input's shape and the sizes of
the model's axes by name. Inputs without a rule are normal numbers; integers always need one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Sizes = Mapping[str, int]
Rule = Callable[[np.random.Generator, tuple[int, ...], Sizes], Any]

#: Of a first axis that is free and that nobody declared: the batches tried.
BATCHES = (1, 2, 3)
#: Draws for each model, of three sizes where it has free axes.
DRAWS = 3


@dataclass(frozen=True)
class Slot:
    """An input as the model declares it. A free axis is the name it has, or "" where it has none."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


class Undeclared(Exception):
    """An axis or a value that the catalogue has to say and doesn't."""


def normal(deviation: float = 1.0, mean: float = 0.0) -> Rule:
    return lambda rng, shape, sizes: rng.normal(mean, deviation, shape)


def uniform(low: float = 0.0, high: float = 1.0) -> Rule:
    return lambda rng, shape, sizes: rng.uniform(low, high, shape)


def tokens(below: int | str, low: int = 0) -> Rule:
    """Whole numbers; `below` may be the name of an axis, whose places they then are."""
    return lambda rng, shape, sizes: rng.integers(low, _size(below, sizes), shape)


def words(*columns: Sequence[str]) -> Rule:
    """Text: in each place of the last axis one of the words of its column."""

    def make(rng: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> Array:
        drawn = [rng.choice(np.array(column), shape[:-1]) for column in columns]
        return np.stack(drawn, -1)

    return make


def constant(value: float | str) -> Rule:
    """One number; the size of an axis where it is a name."""
    return lambda rng, shape, sizes: np.full(shape, sizes[value] if isinstance(value, str) else value)


def lengths(axis: str, least: int = 1) -> Rule:
    """How many of an axis each row has; the first row has them all."""

    def make(rng: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> Array:
        found = rng.integers(least, sizes[axis] + 1, shape)
        found.reshape(-1)[0] = sizes[axis]
        return found

    return make


def mask(least: float = 0.5) -> Rule:
    """Ones, then zeros, along the last axis; the first row is all ones."""

    def make(rng: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> Array:
        last = shape[-1]
        rows = rng.integers(max(1, int(last * least)), last + 1, shape[:-1])
        rows.reshape(-1)[:1] = last
        return np.arange(last) < rows[..., None]

    return make


def grouped(groups: str) -> Rule:
    """For each element the group it is in: numbers that never fall, none left out."""

    def make(rng: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> Array:
        return np.arange(shape[0]) * sizes[groups] // shape[0]

    return make


def audio(loudness: float = 0.3, rate: int = 16000) -> Rule:
    """Voiced sound along the last axis that swells and fades: harmonics of a gliding tone, and some noise."""

    def make(rng: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> Array:
        seconds = np.arange(shape[-1]) / rate
        rows = np.zeros((int(np.prod(shape[:-1], dtype=np.int64)), shape[-1]))
        for row in rows:
            tone = rng.uniform(90, 250) * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(0.5, 3) * seconds))
            phase = 2 * np.pi * np.cumsum(tone) / rate
            voice = sum(np.sin(k * phase + rng.uniform(0, 6)) / k for k in range(1, 9))
            swell = 0.5 + 0.5 * np.sin(2 * np.pi * rng.uniform(1, 4) * seconds + rng.uniform(0, 6))
            row[:] = loudness * (0.3 * voice * swell + 0.02 * rng.normal(size=seconds.size))
        return rows.reshape(shape)

    return make


def image(low: float = 0.0, high: float = 1.0, last: bool = False) -> Rule:
    """Boxes and strokes on a plain ground with a little noise; channels first unless `last`."""

    def make(rng: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> Array:
        height, width = (shape[-3], shape[-2]) if last else (shape[-2], shape[-1])
        channels = shape[-1] if last else shape[-3]
        picture = np.empty((shape[0], channels, height, width))
        for one in picture:
            one[...] = rng.uniform(0.7, 1.0)
            for _ in range(12):
                top, left = rng.integers(0, height), rng.integers(0, width)
                tall = rng.integers(1, max(2, height // 3))
                wide = rng.integers(1, max(2, width // 3))
                one[:, top : top + tall, left : left + wide] = rng.uniform(0, 1, (channels, 1, 1))
            one += rng.normal(0, 0.02, one.shape)
        picture = low + (high - low) * np.clip(picture, 0, 1)
        return np.moveaxis(picture, 1, -1) if last else picture

    return make


def draw(
    slots: list[Slot],
    axes: Mapping[str, tuple[int, ...]],
    rules: Mapping[str, Rule],
    turn: int,
    seed: int = 0,
) -> dict[str, Array]:
    """The inputs of draw `turn`. An axis is declared by its name, or as `input.place`. Raises Undeclared."""
    rng = np.random.default_rng([seed, turn])
    batch = BATCHES[turn % len(BATCHES)]
    leading = {slot.shape[0]: batch for slot in slots if slot.shape and slot.shape[0]}
    sizes = {str(name): size for name, size in leading.items() if isinstance(name, str)}
    sizes |= {name: of[turn % len(of)] for name, of in axes.items()}
    feeds: dict[str, Array] = {}
    for slot in slots:
        shape = tuple(_axis(slot, i, sizes, batch) for i in range(len(slot.shape)))
        rule = rules.get(slot.name)
        if rule is None and not slot.dtype.startswith("float"):
            raise Undeclared(f"values of {slot.name}, which is {slot.dtype}")
        made = (rule or normal())(rng, shape, sizes)
        feeds[slot.name] = np.asarray(made).astype(slot.dtype).reshape(shape)
    return feeds


def _axis(slot: Slot, place: int, sizes: Sizes, batch: int) -> int:
    given = slot.shape[place]
    here = f"{slot.name}.{place}"
    if here in sizes:
        return sizes[here]
    if isinstance(given, int):
        return given
    if given in sizes:
        return sizes[given]
    if place == 0:
        return batch
    raise Undeclared(f"a size of {here} ({given or 'no name'})")


def _size(given: int | str, sizes: Sizes) -> int:
    return sizes[given] if isinstance(given, str) else given
