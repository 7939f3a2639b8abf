"""Which fusion rules a conversion's switches turn off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ascend_ep.errors import nearest
from ascend_ep.opdef.fusion_rules import RULES

#: The name that stands for every rule of a group.
ALL = "ALL"


@dataclass(frozen=True)
class Unknown:
    """A switch that names no rule, and the names it may have meant."""

    group: str
    name: str
    near: tuple[str, ...]


def switched_off(switches: Mapping[str, Mapping[str, bool]]) -> tuple[frozenset[str], list[Unknown]]:
    """(rules that are off, switches that name no rule) of group -> name -> on.

    A rule's own switch counts more than ALL; a rule that nothing names is on.
    """
    off: set[str] = set()
    unknown: list[Unknown] = []
    for group, given in switches.items():
        names = [rule.name for rule in RULES if rule.group == group]
        off |= {name for name in names if not given.get(name, given.get(ALL, True))}
        for name in given:
            if name != ALL and name not in names:
                near = nearest(name, [rule.name for rule in RULES])
                unknown.append(Unknown(group, name, tuple(near)))
    return frozenset(off), unknown
