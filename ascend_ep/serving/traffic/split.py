"""Which version answers a request that names none: by weights, the same one for the same key."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Collection, Mapping

from ascend_ep.errors import AscendError

MOST_VERSIONS = 16


class Split:
    """weights: of versions, by number; only their ratios count, and 0 takes a version out.

    Weighted rendezvous hashing: each version draws an exponentially distributed number of a rate that is its
    weight, from the hash of key and version, and the smallest wins. A change of one weight moves keys only
    to or from that version, and no more of them than it must. Raises AscendError E50036 for weights that
    aren't finite numbers from 0, are all 0, or are too many.
    """

    def __init__(self, model: str, weights: Mapping[int, float]) -> None:
        if not 1 <= len(weights) <= MOST_VERSIONS:
            raise AscendError("E50036", "split", f"its weights name 1 to {MOST_VERSIONS} versions")
        if not all(0 <= w < math.inf for w in weights.values()) or not any(weights.values()):
            raise AscendError("E50036", "split", "its weights are numbers from 0, and one is more than that")
        self._model = model
        self.weights = dict(sorted(weights.items()))

    def choose(self, key: str, ready: Collection[int]) -> int | None:
        """The number of a version among those that are ready; None when none of them has a weight. Without a
        key at random."""
        there = [(number, weight) for number, weight in self.weights.items() if weight and number in ready]
        if len(there) < 2:
            return there[0][0] if there else None
        if not key:
            return random.choices([n for n, _ in there], [w for _, w in there])[0]
        return min(there, key=lambda pair: self._draw(key, pair[0]) / pair[1])[0]

    def _draw(self, key: str, number: int) -> float:
        """Exponentially distributed with rate 1."""
        text = f"{self._model}\0{number}\0{key}".encode("utf-8", "surrogatepass")
        bits = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
        return -math.log((bits + 1) / (2**64 + 1))
