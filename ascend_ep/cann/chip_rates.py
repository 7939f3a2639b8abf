"""What a chip attains at most, and so the least time that work can take on it: a model, nothing measured.

Rates come from the chips' configuration files, as they stand in public: cores, their clock (soc.py), a matrix
unit of 16 by 16 by 16 elements, twice as deep for int8 (DtypeMKN), a vector unit of 128 half elements
(vec_calc_size), which is the documentation's repeat of 256 bytes, and 32 bytes a cycle and core from memory
(ddr_rate). No public page says what the latter counts. For Ascend910B1 it makes 1.42 TB/s, where reports name
1.6 and a copy attains 1.27. Not known, and not in the model: latencies, what an instruction costs to begin,
the L2 cache, products of float32 (taken as half), functions such as exponentials (taken as one operation).
"""

from __future__ import annotations

from dataclasses import dataclass

from ascend_ep.errors import AscendError

from .soc import Soc

MATRIX = 16 * 16 * 16
REPEAT_BYTES, MEMORY_BYTES = 256, 32
#: Where a time is spent.
UNITS = ("scalar", "cube", "vector", "memory")


@dataclass(frozen=True)
class Times:
    """Seconds of each unit, if it were alone."""

    scalar: float = 0.0
    cube: float = 0.0
    vector: float = 0.0
    memory: float = 0.0

    @property
    def overlapped(self) -> float:
        """The least: all units at once."""
        return max(self.scalar, self.cube, self.vector, self.memory)

    @property
    def in_turn(self) -> float:
        """One unit after another, as without double buffers."""
        return self.scalar + self.cube + self.vector + self.memory

    @property
    def limit(self) -> str:
        """The unit that sets the least time."""
        return max(UNITS, key=lambda unit: float(getattr(self, unit)))


@dataclass(frozen=True)
class ChipRates:
    """Cycles a second; products, vector elements and bytes a second of the whole chip."""

    soc: Soc

    @property
    def cycles(self) -> float:
        return self.soc.mhz * 1e6

    @property
    def vector_cores(self) -> int:
        """Cores with a vector unit: those of the chip's own kind, else the cubes' own."""
        return self.soc.vector_cores if self.soc.is_second_generation else self.soc.ai_cores

    @property
    def memory(self) -> float:
        return MEMORY_BYTES * self.soc.ai_cores * self.cycles

    def products(self, element_bytes: int) -> float:
        """Operations of products, two for a multiplication with its addition."""
        return 2 * MATRIX * (2 if element_bytes == 1 else 1) * self.soc.ai_cores * self.cycles

    def elements(self, element_bytes: int) -> float:
        """Of vector operations."""
        return REPEAT_BYTES / max(element_bytes, 2) * self.vector_cores * self.cycles

    def times(self, products: int, operations: int, moved: int, element_bytes: int) -> Times:
        """Of an operator, spread evenly over all cores."""
        return Times(
            cube=products / self.products(element_bytes),
            vector=operations / self.elements(element_bytes),
            memory=moved / self.memory,
        )

    def kernel_times(
        self, cores: int, most_scalar: int, most_vector: int, most_moved: int, moved: int
    ) -> Times:
        """Of a kernel whose busiest core does so much; cores beyond the chip's take turns."""
        turns = -(-cores // self.vector_cores)
        each = MEMORY_BYTES * self.cycles
        return Times(
            scalar=turns * most_scalar / self.cycles,
            vector=turns * most_vector / self.cycles,
            memory=max(moved / self.memory, turns * most_moved / each),
        )


def chip_rates(soc: Soc) -> ChipRates:
    """Raises AscendError E44009 for a chip whose clock no public source says."""
    if not soc.mhz:
        raise AscendError("E44009", soc.name)
    return ChipRates(soc)
