"""What vector instructions do, written down lane by lane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
COUNT, NUMBER, BITS, COUNTER = range(4)
ADD, SUB, MUL, MAX, MIN, MUL_ADD_DST, FUSED_MUL_ADD, ADDS, MULS, MAXS, LEAKY_RELU, ABS, RELU, AXPY = range(14)
DUPLICATE, COPY, BRCB, WHOLE_SUM, WHOLE_MAX, WHOLE_MIN, BLOCK_SUM, BLOCK_MAX, PAIR_SUM = range(20, 29)
COMPARE, SELECT, GATHER_MASK, REDUCE_MAX = range(29, 33)


@dataclass(frozen=True)
class Case:
    """The numbers of a case as vector_instructions.cpp takes them; strides in blocks of 32 bytes."""

    instruction: int
    form: int
    low: int
    high: int
    repeats: int
    blocks: tuple[int, int, int]
    steps: tuple[int, int, int]
    number: int

    def numbers(self) -> list[int]:
        words = [int(np.uint64(w).astype(np.int64)) for w in (self.low, self.high)]
        head = [self.instruction, self.form, *words, self.repeats]
        return [*head, *self.blocks, *self.steps, self.number]

    def lanes(self, per_repeat: int) -> Iterator[tuple[int, int]]:
        """(repeat, lane) of every element that takes part."""
        if self.form == COUNTER:
            for i in range(self.low):
                yield i // per_repeat, i % per_repeat
            return
        for r in range(self.repeats):
            for k in range(per_repeat):
                if (
                    k < self.low
                    if self.form == NUMBER
                    else (self.high if k >= 64 else self.low) >> k % 64 & 1
                ):
                    yield r, k

    def place(self, operand: int, repeat: int, lane: int, block: int) -> int:
        """The element of an operand (dst, src0, src1) that a lane is; `block` elements make 32 bytes."""
        return (repeat * self.steps[operand] + lane // block * self.blocks[operand]) * block + lane % block


def value(case: Case, d: Any, a: Any, b: Any, kind: Any) -> Any:
    """One element of an elementwise instruction, in float32 and rounded once."""
    f = np.float32
    d, a, b, s = f(d), f(a), f(b), f(case.number)
    results = {
        ADD: a + b, SUB: a - b, MUL: a * b, MAX: max(a, b), MIN: min(a, b), MUL_ADD_DST: a * b + d,
        FUSED_MUL_ADD: a * d + b, ADDS: a + s, MULS: a * s, MAXS: max(a, s),
        LEAKY_RELU: a if a >= 0 else a * s, ABS: abs(a), RELU: max(a, f(0)), AXPY: a * s + d,
    }  # fmt: skip
    return kind.type(results[case.instruction])


def total(values: list[Any], kind: Any) -> Any:
    """Halves added to halves, each sum rounded to the type."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return kind.type(np.float32(total(values[:half], kind)) + np.float32(total(values[half:], kind)))


def run(case: Case, d: Array, a: Array, b: Array) -> None:
    """Changes d as the instruction does."""
    kind = d.dtype
    block, per_repeat = 32 // kind.itemsize, 256 // kind.itemsize
    op = case.instruction
    if case.form == COUNT and op <= AXPY:
        for i in range(case.low):
            d[i] = value(case, d[i], a[i], b[i], kind)
    elif op <= AXPY or op in (DUPLICATE, COPY):
        for r, k in case.lanes(per_repeat):
            to, x, y = (case.place(o, r, k, block) for o in range(3))
            d[to] = (
                case.number
                if op == DUPLICATE
                else a[x]
                if op == COPY
                else value(case, d[to], a[x], b[y], kind)
            )
    elif op == BRCB:
        for i in range(case.repeats * 8):
            to = (i // 8 * case.steps[0] + i % 8 * case.blocks[0]) * block
            d[to : to + block] = a[i]
    elif op == COMPARE:
        compare = [np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal][case.number]
        bits = np.packbits(compare(a[: case.low], b[: case.low]), bitorder="little")
        d.view(np.uint8)[: bits.size] = bits
    elif op == SELECT:
        bits = np.unpackbits(b.view(np.uint8), bitorder="little")[: case.low]
        d[: case.low] = np.where(bits, a[: case.low], kind.type(7))
    elif op == GATHER_MASK:
        gather(case, d, a, block)
    elif op == REDUCE_MAX:
        best = int(np.argmax(a[: case.low]))
        index = np.array([best], np.uint16 if kind.itemsize == 2 else np.uint32).view(kind)
        d[0], d[1] = a[best], index[0]
    else:
        reduce(case, d, a, block, per_repeat)


def gather(case: Case, d: Array, a: Array, block: int) -> None:
    patterns = {1: (2, 0), 2: (2, 1), 3: (4, 0), 4: (4, 1), 5: (4, 2), 6: (4, 3), 7: (1, 0)}
    every, first = patterns[case.number]
    taken = [
        a[case.place(1, r, k, block)]
        for r in range(case.repeats)
        for k in range(case.low)
        if k % every == first
    ]
    d[: len(taken)] = taken
    d[-1] = len(taken)


def reduce(case: Case, d: Array, a: Array, block: int, per_repeat: int) -> None:
    kind, op = d.dtype, case.instruction
    groups: dict[tuple[int, int], list[tuple[int, Any]]] = {}
    width = {BLOCK_SUM: block, BLOCK_MAX: block, PAIR_SUM: 2}.get(op, per_repeat)
    for r, k in case.lanes(per_repeat):
        groups.setdefault((r, k // width), []).append((k, a[case.place(1, r, k, block)]))
    for r in range(case.repeats):
        for group in range(per_repeat // width):
            members = groups.get((r, group), [])
            values = [v for _, v in members]
            at = r * case.steps[0] * (per_repeat // width) + group
            if op in (WHOLE_SUM, BLOCK_SUM, PAIR_SUM):
                d[at] = total(values, kind) if values else 0
            elif op == BLOCK_MAX:
                d[at] = max(values) if values else 0
            elif op == WHOLE_MIN and values:
                d[at] = min(values)
            elif op == WHOLE_MAX and values:
                lane = max(members, key=lambda m: (m[1], -m[0]))[0]
                d[2 * at] = max(values)
                words = np.array([lane], np.uint16 if kind.itemsize == 2 else np.uint32)
                d[2 * at + 1] = words.view(kind)[0]
