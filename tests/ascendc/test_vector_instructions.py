"""Vector instructions with random strides, repeats and masks against vector_reference.py."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vector_reference as reference
from kernel_launch import COMPILER, KernelFault, Program
from vector_reference import Case

SOURCE = Path(__file__).with_name("vector_instructions.cpp")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")
BYTES = 8192
FLOAT, HALF = np.dtype(np.float32), np.dtype(np.float16)
ELEMENTWISE = range(reference.AXPY + 1)
OTHERS = range(reference.DUPLICATE, reference.REDUCE_MAX + 1)


@pytest.fixture(scope="module")
def vector(launched: Callable[[str], Program]) -> Program:
    return launched("vector_instructions")


def fits(case: Case, kind: np.dtype[Any], repeats: int) -> bool:
    last = [(repeats - 1) * step + 7 * block + 1 for step, block in zip(case.steps, case.blocks, strict=True)]
    return max(last) * 32 <= BYTES


def draw(choose: random.Random, instruction: int, kind: np.dtype[Any]) -> Case:
    """A case whose operands fit, and whose steps do not write one another's elements."""
    per_repeat = 256 // kind.itemsize
    while True:
        form = choose.choice((0, 1, 2, 3)) if instruction <= reference.AXPY else choose.choice((1, 2))
        repeats = choose.randint(1, 9)
        low, high = choose.randint(1, per_repeat), 0
        if form == reference.BITS:
            low, high = choose.getrandbits(64) | 1, choose.getrandbits(64) if per_repeat > 64 else 0
        blocks, steps = [
            [choose.choice((1, 1, 2, 3)) for _ in range(3)],
            [choose.choice((0, 4, 8, 8, 9, 24)) for _ in range(3)],
        ]
        number = choose.choice((-2, 0, 1, 3))
        if form in (reference.COUNT, reference.COUNTER):
            low, high = choose.randint(1, 900), 0
        r = reference
        if instruction in (r.COPY, r.WHOLE_SUM, r.WHOLE_MAX, r.BLOCK_SUM, r.PAIR_SUM):
            form = r.NUMBER
        if instruction in (r.WHOLE_MIN, r.BLOCK_MAX):
            form = r.BITS
        if form == r.NUMBER:
            low, high = choose.randint(1, per_repeat), 0
        if form == r.BITS:
            low, high = choose.getrandbits(64) | 1, choose.getrandbits(64) if per_repeat > 64 else 0
        if instruction >= r.WHOLE_SUM:
            steps[0] = choose.choice((1, 2, 3))
        if instruction in (r.COMPARE, r.SELECT, r.REDUCE_MAX):
            form, low, number = r.COUNT, choose.randint(1, 15) * per_repeat // 2 * 2, choose.randrange(6)
        if instruction == r.GATHER_MASK:
            form, low, number = r.NUMBER, choose.randint(1, per_repeat), choose.randint(1, 7)
        case = Case(
            instruction,
            form,
            low,
            high,
            repeats,
            (blocks[0], blocks[1], blocks[2]),
            (steps[0], steps[1], steps[2]),
            number,
        )
        used = -(-low // per_repeat) if form == r.COUNTER else repeats
        if fits(case, kind, used):
            return case


def check(vector: Program, cases: list[Case], kind: np.dtype[Any], seed: int) -> None:
    size = BYTES // kind.itemsize
    values = np.random.default_rng(seed).integers(-8, 9, (3, len(cases), size)).astype(kind)
    a, b, d = values
    numbers = [len(cases), BYTES, kind.itemsize, *(n for case in cases for n in case.numbers())]
    (got,) = vector(numbers, [a, b], [d], tracked=False)
    for i, case in enumerate(cases):
        expected = d[i].copy()
        with np.errstate(over="ignore", invalid="ignore"):
            reference.run(case, expected, a[i], b[i])
        unequal = np.flatnonzero(got[i].view(np.uint8) != expected.view(np.uint8))
        assert unequal.size == 0, f"{case} at byte {unequal[0]}: {got[i][unequal[0] // kind.itemsize]}"


@pytest.mark.parametrize("kind", [FLOAT, HALF], ids=["float", "half"])
@pytest.mark.parametrize("instruction", [*ELEMENTWISE, *OTHERS])
def test_random_parameters(vector: Program, instruction: int, kind: np.dtype[Any]) -> None:
    choose = random.Random(instruction)
    check(vector, [draw(choose, instruction, kind) for _ in range(12)], kind, instruction)


@pytest.mark.slow
def test_many_random_parameters(vector: Program) -> None:
    choose = random.Random(7)
    for turn in range(60):
        kind = (FLOAT, HALF)[turn % 2]
        cases = [draw(choose, choose.choice([*ELEMENTWISE, *OTHERS]), kind) for _ in range(100)]
        check(vector, cases, kind, turn)


def test_a_mask_of_more_than_a_repeat_is_refused(vector: Program) -> None:
    case = Case(reference.ADD, reference.NUMBER, 65, 0, 1, (1, 1, 1), (8, 8, 8), 0)
    with pytest.raises(KernelFault, match=r"ErrorParam.*Add: a mask of 65 elements; a repeat has 64"):
        check(vector, [case], FLOAT, 0)


def test_repeats_beyond_the_tensor_are_named_with_their_line(vector: Program) -> None:
    case = Case(reference.ADD, reference.NUMBER, 64, 0, 40, (1, 1, 1), (8, 8, 8), 0)
    with pytest.raises(KernelFault, match=r"ErrorWrite2.*elements 0 to 2560 of a tensor of 2048") as caught:
        check(vector, [case], FLOAT, 0)
    assert "Add, d, a, b" in SOURCE.read_text().splitlines()[caught.value.line - 1]
