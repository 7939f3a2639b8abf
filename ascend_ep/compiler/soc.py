"""The chips --soc_version can name: facts of the platform configuration files of the 8.1 toolkit."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_ep.errors import AscendError, nearest

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Soc:
    """Cores and on-chip memory in bytes; every chip moves its unified buffer in blocks of `block` bytes."""

    name: str
    ai_cores: int
    vector_cores: int
    ub: int
    l1: int
    l0c: int
    l2: int
    block: int = 32


def _family(names: str, ai: int, vector: int, ub: int, l1: int, l0c: int, l2: int) -> list[Soc]:
    return [Soc(f"Ascend{name}", ai, vector, ub, l1, l0c, l2) for name in names.split()]


SOCS: dict[str, Soc] = {
    soc.name: soc
    for family in (
        _family("310", 2, 0, 253952, MIB, 256 * KIB, 8 * MIB),
        _family("310B1 310B2 310B3 310B4", 1, 1, 253952, MIB, 128 * KIB, 4 * MIB),
        _family("310P1", 10, 8, 262144, MIB, 256 * KIB, 16 * MIB),
        _family("310P3", 8, 7, 262144, MIB, 256 * KIB, 16 * MIB),
        _family("910A 910ProA 910PremiumA", 32, 0, 262144, MIB, 256 * KIB, 32 * MIB),
        _family("910B", 30, 0, 262144, MIB, 256 * KIB, 32 * MIB),
        _family("910B1 910B2 910B2C", 24, 48, 196608, 512 * KIB, 128 * KIB, 192 * MIB),
        _family("910B3", 20, 40, 196608, 512 * KIB, 128 * KIB, 192 * MIB),
        _family("910B4", 20, 40, 196608, 512 * KIB, 128 * KIB, 96 * MIB),
        _family("910B4-1", 20, 40, 196608, 512 * KIB, 128 * KIB, 168 * MIB),
        _family("910_9362 910_9372", 20, 40, 196608, 512 * KIB, 128 * KIB, 168 * MIB),
        _family("910_9381 910_9382 910_9391 910_9392", 24, 48, 196608, 512 * KIB, 128 * KIB, 192 * MIB),
        _family("910_95", 32, 64, 253952, 512 * KIB, 256 * KIB, 128 * MIB),
    )
    for soc in family
}

#: Names the documents use that are no configuration file of their own.
ALIASES = {"Ascend910": "Ascend910A", "Ascend310P": "Ascend310P3", "Ascend310B": "Ascend310B1"}


def find_soc(name: str) -> Soc:
    """The chip of this name or alias; E10001 with the nearest names otherwise."""
    known = ALIASES.get(name, name)
    if known in SOCS:
        return SOCS[known]
    near = nearest(name, [*SOCS, *ALIASES])
    details = [f"did you mean {', '.join(near)}?"] if near else []
    raise AscendError(
        "E10001", name, "--soc_version", f"The value must be one of {', '.join(SOCS)}.", details=details
    )
