"""What a program wrote beside the golden files of its own script, where run.sh only prints checksums."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import difference

#: Binary orders of magnitude by which the lower halves of a float32 file, read as float16, spread more than
#: the upper ones, or lie apart from them: they are noise, or 0.
_SPREAD, _APART = 3.0, 6.0
#: No golden file has larger numbers: they are of another type.
_LARGEST = 1e9


@dataclass(frozen=True)
class GoldenFile:
    """refusal: how the written file differs, "" where it doesn't. said: how it was compared."""

    golden: Path
    written: Path
    said: str
    refusal: str = ""


def compared_goldens(folder: Path) -> list[GoldenFile]:
    """The golden files of a project's output folder, each beside the written file of its size and place."""
    files = sorted((folder / "output").glob("*.bin"))
    goldens = [p for p in files if "golden" in p.name]
    written = [p for p in files if p not in goldens]
    if len(goldens) != len(written):
        return []
    return [_compared(g, w) for g, w in zip(goldens, written, strict=True)]


def _compared(golden: Path, written: Path) -> GoldenFile:
    right, made = golden.read_bytes(), written.read_bytes()
    if right == made:
        return GoldenFile(golden, written, "the same bits")
    if len(right) != len(made):
        return GoldenFile(golden, written, "", f"{len(made)} bytes, not {len(right)}")
    kind = _type_of(right)
    if kind is not None:
        far = difference(np.frombuffer(made, kind), np.frombuffer(right, kind))
        if not far.beyond:
            return GoldenFile(golden, written, f"as {kind.name}: {far}")
    count = sum(a != b for a, b in zip(right, made, strict=True))
    return GoldenFile(golden, written, "", f"{count} of {len(right)} bytes differ")


def _type_of(data: bytes) -> np.dtype[Any] | None:
    """What the numbers of a golden file seem to be; None for bytes that are compared as they are: those that
    aren't finite or are very large as floats, or so small that any other would be within the tolerance, as
    integers are."""
    kinds = (np.float16, np.float32) if _are_halves(data) else (np.float32,)
    for kind in (np.dtype(k) for k in kinds):
        if len(data) % kind.itemsize:
            continue
        numbers = np.frombuffer(data, kind)
        is_large = float(np.abs(numbers).max(initial=0)) > _LARGEST
        if np.isfinite(numbers).all() and not is_large and difference(np.zeros_like(numbers), numbers).beyond:
            return kind
    return None


def _are_halves(data: bytes) -> bool:
    """Whether every other number of two bytes is like those between."""
    if len(data) % 2:
        return False
    numbers = np.abs(np.frombuffer(data, np.float16).astype(np.float64))
    lower, upper = (part[part > 0] for part in (numbers[::2], numbers[1::2]))
    if not np.isfinite(numbers).all() or not lower.size:
        return False
    if len(numbers) % 2 or not upper.size:
        return len(numbers) % 2 == 1
    lower, upper = np.log2(lower), np.log2(upper)
    spread, apart = np.std(lower) - np.std(upper), abs(np.median(lower) - np.median(upper))
    return bool(spread < _SPREAD and apart < _APART)
