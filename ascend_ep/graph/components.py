"""Connected components: which of n numbered things hang together, joined two at a time."""

from __future__ import annotations


class Components:
    """The numbers below `count`, at first each alone."""

    def __init__(self, count: int) -> None:
        self._leader = list(range(count))

    def of(self, i: int) -> int:
        """The least number of the component that `i` is in."""
        leader = self._leader
        while leader[i] != i:
            leader[i] = i = leader[leader[i]]
        return i

    def join(self, i: int, j: int) -> None:
        least, other = sorted((self.of(i), self.of(j)))
        self._leader[other] = least
