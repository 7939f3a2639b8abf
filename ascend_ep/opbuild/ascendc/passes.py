"""Passes over a row's tiles, and the registers each needs.

Pass p folds what lies above p - 1 folds; section p then computes the row values that these folds complete;
the last pass writes the outputs. A pass computes anew what it needs of the inputs: a tile is all that fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .instructions import Selected
from .values import Value, reachable

#: results that may not lie where an operand lies
_APART = frozenset({"library", "narrow", "widen"})


@dataclass
class Registers:
    """Values in the order of computing, each with the number of its register."""

    values: list[Value]
    registers: dict[Value, int] = field(default_factory=dict)
    floats: int = 0
    masks: int = 0


@dataclass(frozen=True)
class Plan:
    """passes[p]: folds of level p + 1 and what they need. sections[p]: row values of level p; `exported` are
    the row values read outside of their section. last: the full outputs."""

    passes: tuple[tuple[tuple[Value, ...], Registers], ...]
    sections: tuple[Registers, ...]
    exported: frozenset[Value]
    last: Registers
    full_outputs: tuple[tuple[str, Value], ...]
    row_outputs: tuple[tuple[str, Value], ...]

    @property
    def floats(self) -> int:
        """Registers of a tile."""
        return max(s.floats for s in (self.last, *(s for _, s in self.passes)))

    @property
    def masks(self) -> int:
        return max(s.masks for s in (self.last, *(s for _, s in self.passes)))

    @property
    def row_floats(self) -> int:
        return max((s.floats for s in self.sections), default=0)

    @property
    def row_masks(self) -> int:
        return max((s.masks for s in self.sections), default=0)

    def values(self) -> list[Value]:
        """Everything that is computed."""
        return reachable(v for _, v in (*self.full_outputs, *self.row_outputs))


def plan_passes(selected: Selected) -> Plan:
    """The passes of a kernel. Outputs of scalars are row values, or full where nothing is folded."""
    full = tuple((n, v) for n, v in selected.outputs if v.spread == "full")
    rows = tuple((n, v) for n, v in selected.outputs if v.spread == "row")
    everything = reachable(v for _, v in selected.outputs)
    folds = [v for v in everything if v.is_fold]
    passes = []
    for level in range(1, 1 + max((f.level for f in folds), default=0)):
        mine = tuple(f for f in folds if f.level == level)
        roots = [f.args[0] for f in mine]
        passes.append((mine, _allocate(_full(roots), roots)))
    computed = [v for v in everything if v.spread == "row" and not v.is_fold]
    exported = {v.args[0] for v in everything if v.op == "row_ref"} | {v for _, v in rows} | set(folds)
    sections: list[Registers] = []
    for level in range(len(passes), -1, -1):  # a section reads what those before it export
        roots = [v for v in computed if v.level == level and v in exported]
        sections.insert(0, _allocate(_section(roots, level), roots))
        exported |= {v for v in sections[0].values if v.level < level and not v.is_mask}
    last_roots = [v for _, v in full]
    return Plan(
        tuple(passes),
        tuple(sections),
        frozenset(exported),
        _allocate(_full(last_roots), last_roots),
        full,
        rows,
    )


def _full(roots: Sequence[Value]) -> list[Value]:
    """What a tile computes: full values, but for the inputs."""
    return [v for v in _below(roots, lambda v: v.spread != "full") if v.spread == "full" and v.op != "input"]


def _section(roots: Sequence[Value], level: int) -> list[Value]:
    """Row values; what an earlier section exported is read, not computed."""
    return [
        v
        for v in _below(roots, lambda v: v.is_fold or (v.level < level and not v.is_mask))
        if v.spread == "row"
    ]


def _below(roots: Iterable[Value], stop: object) -> list[Value]:
    assert callable(stop)
    found: dict[int, Value] = {}
    stack = list(roots)
    while stack:
        value = stack.pop()
        if value.number not in found:
            found[value.number] = value
            if not stop(value):
                stack += value.args
    return [found[n] for n in sorted(found)]


def _allocate(values: list[Value], roots: Sequence[Value]) -> Registers:
    """Registers by linear scan. A root is used right after it is computed."""
    result = Registers(values)
    position = {v: i for i, v in enumerate(values)}
    last = dict(position)
    for i, value in enumerate(values):
        for a in value.args:
            if a in last:
                last[a] = i
    rows = bool(values) and values[0].spread == "row"
    for root in roots if rows else ():
        last[root] = len(values)
    free: dict[bool, list[int]] = {False: [], True: []}
    count = {False: 0, True: 0}
    for i, value in enumerate(values):
        ending = [a for a in dict.fromkeys(value.args) if last.get(a) == i and a is not value]
        early = [] if value.op in _APART else [a for a in ending if a.is_mask == value.is_mask]
        for a in early:
            free[a.is_mask].append(result.registers[a])
        if free[value.is_mask]:
            result.registers[value] = free[value.is_mask].pop()
        else:
            result.registers[value] = count[value.is_mask]
            count[value.is_mask] += 1
        for a in ending:
            if a not in early:
                free[a.is_mask].append(result.registers[a])
        if last[value] == i:
            free[value.is_mask].append(result.registers[value])
    result.floats, result.masks = count[False], count[True]
    return result
