"""An expression program as stages of a kernel, each over tiles of one shape, with held tensors between them.

Elementwise expressions, and reductions over their last axes where every operand has the same shape, are one
stage of rows. Other reductions fold into a held tensor, which later stages read like an input; so does top-k.
Positions (index) are operands without memory; unsqueeze reads a tensor in other dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.opdef.expression import Program

from .instructions import Selected, select_instructions
from .passes import Plan, plan_passes
from .shapes import SCALAR, Shapes

#: of a merged stage: tiles stay longer than a thousand elements
_MOST_REGISTERS = 24


@dataclass(frozen=True)
class Operand:
    """What a stage reads: a tensor, or with no tensor 0, 1, 2, ... in row-major order. dims: its shape's
    number."""

    name: str
    tensor: str
    dims: int


@dataclass
class Stage:
    """kind rows: the instructions of `selected`. fold: one fold of what `selected` computes, over `axes` (C++
    text). topk: of operand 0 along `axes`, k (C++ text) at a time; outputs are the values' and the indices'
    tensor, "" for what nobody reads; chosen: their shape, of which a tensor's may differ by dimensions of 1. frame: shapes that, broadcast, are those of the elements. waits: for
    all cores to have finished the stages before."""

    kind: Literal["rows", "fold", "topk"]
    operands: tuple[Operand, ...]
    outputs: list[str]
    frame: tuple[int, ...]
    selected: Selected
    program: Program
    axes: str = ""
    k: str = ""
    largest: bool = True
    chosen: int = SCALAR
    waits: bool = False

    @property
    def plan(self) -> Plan:
        return plan_passes(self.selected)

    def reads(self) -> set[str]:
        return {o.tensor for o in self.operands if o.tensor}


@dataclass
class Staged:
    """The stages in order, the held tensors' shapes' numbers, the outputs' ones, and C++ text of numbers that
    the host computes from shapes, by the name that stands for them in scalars' texts."""

    stages: list[Stage]
    shapes: Shapes
    held: dict[str, int]
    outputs: dict[str, int]
    counts: dict[str, str] = field(default_factory=dict)

    @property
    def operands(self) -> int:
        """The most that a stage reads, the result of a top-k counted, rounded up to a power of two."""
        most = max(2, *(len(s.operands) + (s.kind == "topk") for s in self.stages))
        return 1 << (most - 1).bit_length()


def needed(stages: list[Stage], wanted: set[str]) -> list[Stage]:
    """The stages that `wanted` tensors need, a copy of what one wrote left out."""
    kept: list[Stage] = []
    readers: dict[str, int] = {}
    for stage in reversed(stages):
        stage.outputs = [t if t in wanted else "" for t in stage.outputs]
        if any(stage.outputs):
            wanted = wanted | stage.reads()
            for tensor in stage.reads():
                readers[tensor] = readers.get(tensor, 0) + 1
            kept.insert(0, stage)
    made = {t: s for s in kept for t in s.outputs if t}
    for stage in list(kept):
        source = _copied(stage)
        maker = made.get(source.tensor) if source else None
        if source and maker and maker.kind != "rows" and readers[source.tensor] == 1:
            maker.outputs = [stage.outputs[0] if t == source.tensor else t for t in maker.outputs]
            kept.remove(stage)
    return kept


def _copied(stage: Stage) -> Operand | None:
    """The operand that a stage copies as it is."""
    if stage.kind != "rows" or len(stage.operands) != 1 or stage.frame != (stage.operands[0].dims,):
        return None
    ((_, value),) = stage.selected.outputs
    return stage.operands[0] if value.op == "input" else None


def merged(stages: list[Stage], scalars: dict[str, str]) -> list[Stage]:
    """Stages of rows over the same operands and elements as one."""
    result: list[Stage] = []
    for stage in stages:
        same = [
            s for s in result if s.kind == "rows" and (s.operands, s.frame) == (stage.operands, stage.frame)
        ]
        joined = _joined(same[0], stage, scalars) if same and stage.kind == "rows" else None
        if joined is None:
            result.append(stage)
        else:
            result[result.index(same[0])] = joined
    return result


def _joined(first: Stage, second: Stage, scalars: dict[str, str]) -> Stage | None:
    lets = {**dict(first.program.lets), **dict(second.program.lets)}
    program = Program(tuple(lets.items()), (*first.program.outputs, *second.program.outputs))
    try:
        selected = select_instructions(program, scalars)
    except NotGenerated:
        return None
    made = replace(first, outputs=[*first.outputs, *second.outputs], selected=selected, program=program)
    return made if len(made.outputs) + made.plan.floats < _MOST_REGISTERS else None


def mark_waits(stages: list[Stage], held: set[str]) -> None:
    under_way: set[str] = set()
    for stage in stages:
        if stage.reads() & under_way:
            stage.waits = True
            under_way = set()
        under_way |= held & set(stage.outputs)
