"""The intrinsics that generated code brings itself stand for those of the compiler's header."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ascend_ep.codegen import header_text
from ascend_ep.codegen.c_source import InputType, Schedule, Source, generate_c
from ascend_ep.codegen.compiled_library import compile_library
from ascend_ep.codegen.library_call import run_library
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import Apply, Input, Program

pytestmark = pytest.mark.usefixtures("compiler")


def source(dtype: int) -> Source:
    """exp(x) + log(x): every kind of load, store and mathematics that has intrinsics."""
    both = Apply("add", (Apply("exp", (Input("x"),)), Apply("log", (Input("x"),))))
    return generate_c(
        "Both", Program((), (("y", both),)), ["x"], [InputType(dtype, ("n",))], [dtype], optimize()
    )


def optimize() -> Schedule:
    return Schedule(optimize=1)


@pytest.mark.parametrize("dtype", [dtypes.FLOAT32, dtypes.FLOAT16])
def test_the_same_bits_with_the_compilers_header(dtype: int) -> None:
    ours = source(dtype)
    theirs = replace(ours, text=ours.text.replace("!defined(__clang__)", "0", 1))
    assert theirs.text != ours.text
    x = np.linspace(0.01, 9, 1003).astype(dtypes.NUMPY[dtype])
    results = [run_library(compile_library(s).path, "Both", [x])[0] for s in (ours, theirs)]
    assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.parametrize("wide", [False, True])
def test_generated_code_reads_none_of_the_header(wide: bool) -> None:
    """Reading it takes longer than compiling an operator: intrinsics.h must have what our headers use."""
    text = header_text.mathematics(wide) + header_text.abi()
    assert "#include <immintrin.h>" in text
    assert "\n#include <immintrin.h>\n" not in header_text.with_few_intrinsics(text)


def test_code_with_other_intrinsics_reads_the_header() -> None:
    text = "#include <immintrin.h>\nint f(void) { return _mm_popcnt_u32(7); }\n"
    assert header_text.with_few_intrinsics(text) == text
    few = "#include <stdint.h>\n#include <immintrin.h>\n__m512 f(__m512 x) { return _mm512_getexp_ps(x); }\n"
    assert "\n#include <immintrin.h>\n" not in header_text.with_few_intrinsics(few)
