"""The proof's check of generated Ascend C."""

import shutil
from dataclasses import replace

import pytest

from ascend_ep.cann.soc import find_soc
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.opbuild.ascendc.cpu import compile_many_for_cpu
from ascend_ep.opbuild.proof.ascend_c import check_ascend_c, kernel_of
from ascend_ep.opbuild.proof.cases import small_cases
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.loader import parse_definitions

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler is installed"
)
SOC = find_soc("Ascend910B3")
OPERATOR = """{"op": "Ranked", "types": {"T": ["float32", "float16", "float64"]},
 "inputs": [{"name": "x", "type": "T"}], "outputs": [{"name": "y", "type": "T"}],
 "formula": "x*sigmoid(x) - mean(x, axis=0)"}"""


def subject(dtype=dtypes.FLOAT32):
    return Subject(parse_definitions(OPERATOR)[0], (TensorSpec(dtype, (3, 33)),), {})


def test_a_right_kernel_and_a_wrong_one():
    right = subject()
    cases = small_cases(right)
    kernel = kernel_of(right, SOC)
    check = check_ascend_c(right, SOC, cases, kernel)
    assert check.passed, check
    source = kernel.source
    mistakes = (
        ("Exp(", "Abs(", "the reference"),
        ("    SyncAll();\n", "", "ErrorSync"),
        ("width);", "width - 1);", "ErrorRead|ErrorWrite|the reference"),
    )
    assert all(text in source.kernel for text, _, _ in mistakes)
    changed = [replace(source, kernel=source.kernel.replace(text, wrong)) for text, wrong, _ in mistakes]
    compiled = compile_many_for_cpu([(wrong, right.opdef, 0) for wrong in changed])
    for wrong_kernel, (_, _, message) in zip(compiled, mistakes, strict=True):
        check = check_ascend_c(right, SOC, cases, wrong_kernel)
        assert check.passed is False
        assert any(part in check.detail for part in message.split("|")), check


def test_half_types():
    assert check_ascend_c(subject(dtypes.FLOAT16), SOC, small_cases(subject(dtypes.FLOAT16))[:6]).passed


def test_what_has_no_kernel_says_why():
    check = check_ascend_c(subject(dtypes.FLOAT64), SOC, [])
    assert check.passed is None
    assert "columns" in check.detail or "column" in check.detail
