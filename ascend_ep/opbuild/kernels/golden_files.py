"""What a program wrote beside the golden files of its own script, where run.sh only prints checksums."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .arrays import difference

#: Element types that files of numbers are tried as, where their bits differ.
_TYPES = (np.float32, np.float16)
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
    for kind in _TYPES:
        if len(right) % np.dtype(kind).itemsize:
            continue
        wanted, found = np.frombuffer(right, kind), np.frombuffer(made, kind)
        if not np.isfinite(wanted).all() or float(np.abs(wanted).max(initial=0)) > _LARGEST:
            continue
        far = difference(found, wanted)
        if not far.beyond:
            return GoldenFile(golden, written, f"as {np.dtype(kind).name}: {far}")
    count = sum(a != b for a, b in zip(right, made, strict=True))
    return GoldenFile(golden, written, "", f"{count} of {len(right)} bytes differ")
