"""Names of the operator tool chain: of element types, and those it derives: file names from operator types,
configuration names from chips.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ascend_ep.element_types import ELEMENT_TYPES

GE_TYPES = {n: row.ge for n, row in ELEMENT_TYPES.items() if row.ge}
#: One of the combinations of element types that an operator takes, by tensor.
Column = Mapping[str, int]


def snake_case(name: str) -> str:
    """AbcDef -> abc_def, ABCDef -> abc_def, Abc2DEf -> abc2_d_ef, ABC2dEF -> abc2d_ef, as msopgen names
    files.
    """
    parted = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", parted).lower()


def config_name(soc: str) -> str:
    """The AddConfig name of a chip: Ascend910B1 -> ascend910b, Ascend310P3 -> ascend310p, Ascend910A ->
    ascend910.
    """
    lower = soc.lower()
    if lower.startswith("ascend910_93"):
        return "ascend910_93"
    if lower.startswith("ascend910_95"):
        return "ascend910_95"
    for family in ("ascend910b", "ascend310p", "ascend310b", "ascend910", "ascend310"):
        if lower.startswith(family):
            return family
    return lower


class OpenInt(int):
    """The value of an integer attribute that generated host code reads at run time. `place`: its number among
    the attributes."""

    place: int

    def __new__(cls, value: int, place: int) -> OpenInt:
        made = super().__new__(cls, value)
        made.place = place
        return made
