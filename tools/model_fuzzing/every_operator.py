"""All operators that cases are drawn of, by name."""

from __future__ import annotations

from model_fuzzing import contributed_attention, contributed_quantised, windows
from model_fuzzing.contributed import FAMILIES
from model_fuzzing.draw import Case, Draw

__all__ = ["FAMILIES", "contributed_attention", "contributed_quantised", "drawn", "windows"]


def drawn(name: str, seed: int) -> Case:
    """The case of an operator and a seed."""
    draw = Draw(seed)
    case = FAMILIES[name](draw)
    case.free = draw.one_of("none", "each", "shared", "shared")
    return case
