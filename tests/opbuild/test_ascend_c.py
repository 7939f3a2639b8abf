"""The proof's check of generated Ascend C."""

import shutil
from dataclasses import replace

import pytest

from ascend_ep.cann.soc import find_soc
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.opbuild.ascendc.cpu import compile_many_for_cpu
from ascend_ep.opbuild.ascendc.generate import generate_ascend_c
from ascend_ep.opbuild.proof import ascend_c
from ascend_ep.opbuild.proof.ascend_c import check_ascend_c
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


MISTAKES = (
    ("Exp(", "Abs(", "the reference"),
    ("    SyncAll();\n", "", "ErrorSync"),
    ("width);", "width - 1);", "ErrorRead|ErrorWrite|the reference"),
)


@pytest.fixture(scope="module")
def kernels():
    """Of float32 and float16, and of float32 with each of MISTAKES: compiled in one program, as a translation
    unit takes seconds and a kernel more a fraction of one."""
    opdef = subject().opdef
    source = generate_ascend_c(opdef, SOC)
    assert all(text in source.kernel for text, _, _ in MISTAKES)
    changed = [replace(source, kernel=source.kernel.replace(text, wrong)) for text, wrong, _ in MISTAKES]
    return compile_many_for_cpu(
        [(source, opdef, 0), (source, opdef, 1), *((wrong, opdef, 0) for wrong in changed)]
    )


def test_a_right_kernel_and_a_wrong_one(kernels):
    right = subject()
    cases = small_cases(right)
    check = check_ascend_c(right, SOC, cases, kernels[0])
    assert check.passed, check
    for wrong_kernel, (_, _, message) in zip(kernels[2:], MISTAKES, strict=True):
        check = check_ascend_c(right, SOC, cases, wrong_kernel)
        assert check.passed is False
        assert any(part in check.detail for part in message.split("|")), check


def test_half_types(kernels):
    half = subject(dtypes.FLOAT16)
    assert kernels[1].column["x"] == dtypes.FLOAT16
    assert check_ascend_c(half, SOC, small_cases(half)[:6], kernels[1]).passed


def test_a_subjects_kernel_has_its_types(monkeypatch):
    made = []
    monkeypatch.setattr(ascend_c, "compile_for_cpu", lambda *arguments: made.append(arguments))
    for dtype in (dtypes.FLOAT32, dtypes.FLOAT16):
        ascend_c.kernel_of(subject(dtype), SOC)
        source, _, number = made.pop()
        assert source.columns[number]["x"] == dtype


def test_what_has_no_kernel_says_why():
    check = check_ascend_c(subject(dtypes.FLOAT64), SOC, [])
    assert check.passed is None
    assert "columns" in check.detail or "column" in check.detail
