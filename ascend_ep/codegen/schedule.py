"""How generated code goes about its loops: everything that changes speed and no bit of a result."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ascend_ep.runtime._rt import lib


@dataclass(frozen=True)
class Schedule:
    """tile: elements of an elementwise loop that one chunk of threads takes. unroll: vectors per turn of a
    loop that only writes. keep: the cost of recomputing (an addition is 1) from which a value that several
    passes over a row need is kept in memory instead. optimize: the compiler's -O level. cached: the bytes of
    all operands that the caches are to hold; so much of the outputs as is beyond is stored past them, since
    it would displace what is read."""

    tile: int = 4096
    unroll: int = 4
    keep: int = 6
    optimize: int = 2
    cached: int = lib.ASC_STREAM_BYTES

    def __post_init__(self) -> None:
        if self.tile < 64 or self.tile % 64 or self.unroll not in (1, 2, 4) or self.optimize not in (1, 2, 3):
            raise ValueError(f"no schedule has {asdict(self)}")

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in asdict(self).items())
