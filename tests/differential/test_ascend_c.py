"""Random operators: generated Ascend C, compiled for the CPU, agrees with float64 within the bound carried
through each expression."""

from __future__ import annotations

import os
import shutil

import pytest
from agreement import Tally, allowed, check_tally, judge
from ascendc import compile_ascend_c
from features import features_of
from programs import Operator, drawn

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.proof.arithmetic import ASCEND_C

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler is installed"
)
#: What may have no Ascend C, and the sentence that says so; all else has.
LEFT_OUT = {
    "input float64": "the vector unit has no float64 arithmetic",
    "output float64": "the vector unit has no float64 arithmetic",
}


def test_ascend_c() -> None:
    """A sample of what --slow runs: each takes 0.17 s to compile."""
    check(drawn(40))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_other_seeds(part: int) -> None:
    """2000 examples that nobody has seen; a failure names its seed."""
    seed = int.from_bytes(os.urandom(4), "little")
    try:
        check(drawn(200, seed))
    except (AssertionError, AscendError) as error:
        raise AssertionError(f"seed {seed}: {error}") from error


def check(operators: list[Operator]) -> None:
    kernels, reasons = compile_ascend_c(operators)
    left_out = {o.opdef.op: features_of(o) & set(LEFT_OUT) for o in operators}
    assert reasons == {op: LEFT_OUT[min(found)] for op, found in left_out.items() if found}
    tally = Tally()
    for operator in operators:
        kernel = kernels.get(operator.opdef.op)
        for case in range(len(operator.sizes) if kernel else 0):
            inputs = operator.inputs(case)
            results = kernel(*inputs, attributes=operator.given)
            judge(f"case {case}, Ascend C", operator, results, allowed(operator, inputs, ASCEND_C), tally)
    check_tally(tally)
