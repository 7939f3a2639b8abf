"""The chips --soc_version can name: facts of the platform configuration files of the 8.1 toolkit.

Of 310P2, P4, P5, P7 and 910ProB only the family is known; they are given its sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ascend_ep.errors import AscendError, nearest

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Soc:
    """Cores and memory in bytes; every chip moves its unified buffer in blocks of `block` bytes. `family` is
    CANN's short name, for which operators are compiled: Ascend910B of Ascend910B3. `hbm` is what tiling is
    told of, not a fact of the configuration files. `mhz`: of the cores; 0 where no public source says it."""

    name: str
    family: str
    ai_cores: int
    vector_cores: int
    ub: int
    l1: int
    l0c: int
    l2: int
    block: int = 32
    l0a: int = 64 * KIB
    l0b: int = 64 * KIB
    hbm: int = 64 << 30
    mhz: int = 0

    @property
    def is_second_generation(self) -> bool:
        """Whether it has vector cores beside the cubes' own, as training chips from Ascend910B1 on."""
        return self.vector_cores == 2 * self.ai_cores

    @property
    def bfloat16(self) -> bool:
        """Whether it computes in bfloat16 at all."""
        return self.is_second_generation

    @property
    def cube_float32(self) -> bool:
        """Whether its matrix unit multiplies float32."""
        return self.is_second_generation

    @property
    def fused_operators(self) -> bool:
        """Whether attention, rotary embeddings and gated units are kernels of its operator library."""
        return self.is_second_generation


def _family(family: str, names: str, *sizes: int) -> list[Soc]:
    """Of `ai_cores` and what follows in Soc."""
    return [Soc(f"Ascend{name}", f"Ascend{family}", *sizes) for name in names.split()]


#: MHz, in public: cube_freq of the configuration files; of Ascend910B3 what npu-smi reports.
_CLOCKS = {
    "Ascend910A": 1000,
    "Ascend910B": 900,
    "Ascend910B1": 1850,
    "Ascend910B2": 1800,
    "Ascend910B2C": 1800,
    "Ascend910B3": 1800,
    "Ascend910B4": 1500,
}

SOCS: dict[str, Soc] = {
    soc.name: replace(soc, mhz=_CLOCKS.get(soc.name, 0))
    for family in (
        _family("310", "310", 2, 0, 253952, MIB, 256 * KIB, 8 * MIB),
        _family("310B", "310B1 310B2 310B3 310B4", 1, 1, 253952, MIB, 128 * KIB, 4 * MIB),
        _family("310P", "310P1", 10, 8, 262144, MIB, 256 * KIB, 16 * MIB),
        _family("310P", "310P2 310P3 310P4 310P5 310P7", 8, 7, 262144, MIB, 256 * KIB, 16 * MIB),
        _family("910", "910A 910ProA 910PremiumA", 32, 0, 262144, MIB, 256 * KIB, 32 * MIB),
        _family("910", "910B 910ProB", 30, 0, 262144, MIB, 256 * KIB, 32 * MIB),
        _family("910B", "910B1 910B2 910B2C", 24, 48, 196608, 512 * KIB, 128 * KIB, 192 * MIB),
        _family("910B", "910B3", 20, 40, 196608, 512 * KIB, 128 * KIB, 192 * MIB),
        _family("910B", "910B4", 20, 40, 196608, 512 * KIB, 128 * KIB, 96 * MIB),
        _family("910B", "910B4-1", 20, 40, 196608, 512 * KIB, 128 * KIB, 168 * MIB),
        _family("910_93", "910_9362 910_9372", 20, 40, 196608, 512 * KIB, 128 * KIB, 168 * MIB),
        _family(
            "910_93", "910_9381 910_9382 910_9391 910_9392", 24, 48, 196608, 512 * KIB, 128 * KIB, 192 * MIB
        ),
        _family("910_95", "910_95", 32, 64, 253952, 512 * KIB, 256 * KIB, 128 * MIB),
    )
    for soc in family
}

#: Names the documents use that are no configuration file of their own.
ALIASES = {
    "Ascend910": "Ascend910A",
    "Ascend910Pro": "Ascend910ProA",
    "Ascend910Premium": "Ascend910PremiumA",
    "Ascend910_93": "Ascend910_9391",
    "Ascend310P": "Ascend310P3",
    "Ascend310B": "Ascend310B1",
    "Ascend710": "Ascend310P3",
    "Ascend950": "Ascend910_95",
}


def find_soc(name: str) -> Soc:
    """The chip of this name or alias; E10001 with the nearest names otherwise."""
    known = ALIASES.get(name, name)
    if known in SOCS:
        return SOCS[known]
    tails = [known for known in SOCS if name and known.casefold().endswith(name.casefold())]
    near = tails[:1] or nearest(name, [*SOCS, *ALIASES])
    details = [f"did you mean {', '.join(near)}?"] if near else []
    raise AscendError(
        "E10001", name, "--soc_version", f"The value must be one of {', '.join(SOCS)}.", details=details
    )


def configuration(soc: Soc) -> str:
    """What its file platform_config/<name>.ini of a toolkit says, as far as it is public: scripts look up the
    family and sizes there."""
    cores = {"ai_core_cnt": soc.ai_cores, "vector_core_cnt": soc.vector_cores}
    if soc.is_second_generation:
        cores["cube_core_cnt"] = soc.ai_cores
    sections: dict[str, dict[str, str | int]] = {
        "version": {"SoC_version": soc.name, "Short_SoC_version": soc.family},
        "SoCInfo": {**cores, "memory_size": soc.hbm, "l2_size": soc.l2},
        "AICoreSpec": {
            **({"cube_freq": soc.mhz} if soc.mhz else {}),
            "l0_a_size": soc.l0a,
            "l0_b_size": soc.l0b,
            "l0_c_size": soc.l0c,
            "l1_size": soc.l1,
            "ub_size": soc.ub,
            "ubblock_size": soc.block,
        },
    }
    return "\n".join(
        f"[{section}]\n" + "".join(f"{key}={value}\n" for key, value in said.items())
        for section, said in sections.items()
    )
