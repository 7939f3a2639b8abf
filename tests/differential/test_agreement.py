"""Random operators: the interpreter and compiled C on every ISA level agree with each other, and with float64
within the bound carried through each expression."""

from __future__ import annotations

import os
from collections import Counter

import compiled
import interpreted
import pytest
from agreement import Tally, allowed, check_tally, compare, judge, report
from drawing import nodes_of
from features import EVERY, features_of
from programs import MAX_NODES, Operator, drawn

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.proof.arithmetic import FLOAT32, FLOAT64
from ascend_ep.opbuild.proof.execution import SAME_ULPS
from ascend_ep.opbuild.proof.prove import levels
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.specialize import specialize

EXAMPLES = 200


@pytest.fixture(scope="module")
def operators() -> list[Operator]:
    return drawn(EXAMPLES)


def test_every_feature_is_drawn(operators: list[Operator]) -> None:
    assert len({str(o) for o in operators}) == EXAMPLES
    assert max(nodes_of(o.program) for o in operators) in range(20, MAX_NODES + 1)
    seen = Counter(f for o in operators for f in features_of(o))
    assert set(seen) == EVERY, (sorted(EVERY - set(seen)), sorted(set(seen) - EVERY))


def test_text_of_a_program_reads_as_the_program(operators: list[Operator]) -> None:
    for operator in operators:
        bound = bind_attributes(operator.opdef, operator.given)
        names = operator.given_inputs
        read, written = (specialize(p, bound, names) for p in (operator.program, operator.drawn))
        assert read == written, operator


LEVELS = levels()
#: What lies between them has the same code generator, and waits for --slow, which draws thousands more at
#: every level; so the lowest takes every second operator here, the best one every fourth.
ENDS = [LEVELS[0], LEVELS[-1]]


@pytest.mark.parametrize(
    "level", [level if level in ENDS else pytest.param(level, marks=pytest.mark.slow) for level in LEVELS]
)
def test_interpreter_and_compiled_code(
    operators: list[Operator], level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_EP_CPU", level)
    check_level(operators[::2] if level == LEVELS[0] else operators[1::4], level)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_other_seeds(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """2000 examples that nobody has seen; a failure names its seed."""
    seed = int.from_bytes(os.urandom(4), "little")
    operators = drawn(EXAMPLES, seed)
    assert len(operators) == EXAMPLES
    try:
        for level in levels():
            monkeypatch.setenv("ASCEND_EP_CPU", level)
            check_level(operators, level)
    except (AssertionError, AscendError) as error:
        raise AssertionError(f"seed {seed}: {error}") from error


def check_level(operators: list[Operator], level: str) -> None:
    sources, reasons = compiled.generated(operators)
    assert not reasons, reasons
    libraries = compiled.compile_all(list(sources.values()), [level])
    bounds, apart = Tally(), Tally()
    for operator in operators:
        for case in range(len(operator.sizes)):
            inputs = operator.inputs(case)
            wide = interpreted.subject_of(operator, inputs).wide
            right = allowed(operator, inputs, FLOAT64 if wide else FLOAT32)
            first = interpreted.run(operator, inputs)
            judge(f"case {case}, interpreted", operator, first, right, bounds)
            second = compiled.run(libraries[operator.opdef.op, level], operator, inputs)
            judge(f"case {case}, compiled", operator, second, right, bounds)
            compare(f"case {case}", operator, first, second, SAME_ULPS, apart)
    check_tally(bounds)
    assert not apart.failures, report(apart)
