"""What a quantisation may be told. Where AMCT has a setting, the name and its meaning are AMCT's."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ascend_ep.errors import AscendError

#: How the range of an activation follows from what samples show; ifmr is AMCT's default.
METHODS = ("ifmr", "min-max", "percentile", "entropy")
WEIGHT_BITS = (8, 4)


@dataclass(frozen=True)
class Settings:
    """`method`: one of METHODS. `percentile`: the percentage of elements that percentile and ifmr keep.
    `activation_offset`: activations are uint8 with a zero point, else int8 around zero. `channel_wise`: a
    scale for each output channel of weights, else one. `migration_strength`: SmoothQuant's alpha for matrix
    products, 0 for none. `weight_bits` 4 quantises weights alone, `block_size` rows of a matrix to a scale.
    `gptq` rounds weights of matrix products so that errors of one row make up for those of others.
    `bias_correction`: what quantisation adds to the mean of a product's channel leaves its bias.
    `skip_layers`: names of nodes that stay as they are; `skip_layer_types`: operators that do.
    """

    method: str = "ifmr"
    percentile: float = 99.999
    activation_offset: bool = True
    channel_wise: bool = True
    migration_strength: float = 0.5
    weight_bits: int = 8
    block_size: int = 32
    gptq: bool = False
    bias_correction: bool = True
    skip_layers: Collection[str] = field(default_factory=frozenset)
    skip_layer_types: Collection[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        _require(self.method in METHODS, "method", self.method, f"It is one of {', '.join(METHODS)}.")
        _require(50 < self.percentile <= 100, "percentile", self.percentile, "It is over 50, 100 at most.")
        _require(
            0 <= self.migration_strength <= 1, "migration_strength", self.migration_strength, "It is 0 to 1."
        )
        _require(self.weight_bits in WEIGHT_BITS, "weight_bits", self.weight_bits, "It is 8 or 4.")
        power = self.block_size >= 16 and self.block_size & (self.block_size - 1) == 0
        _require(power, "block_size", self.block_size, "It is a power of two, 16 at least.")

    @property
    def activations(self) -> bool:
        """Whether activations are quantised, too."""
        return self.weight_bits == 8


def _require(holds: bool, name: str, value: object, reason: str) -> None:
    if not holds:
        raise AscendError("E10003", value, name, reason)
