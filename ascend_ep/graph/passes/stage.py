"""What the list of passes says of a pass: its name, what it needs and leaves, and what switches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar


@dataclass(frozen=True)
class Pass:
    """A row of the list. `needs` and `leaves`: what holds before and after, a short phrase each.

    `switch`: the option that turns it off or on; "" for a pass that always runs.
    """

    name: str
    needs: str
    leaves: str
    switch: str = ""


P = TypeVar("P", bound=Pass, covariant=True)


@dataclass(frozen=True)
class Stage(Generic[P]):
    """Passes that run one after the other over one thing. With several `rounds` all of them run again until
    none changes anything, or that often."""

    title: str
    works_on: str
    passes: tuple[P, ...]
    rounds: int = 1
