"""The harness itself: strides reach the kernel, refusals become KernelError."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from isa_levels import each_isa, isa_levels, isa_name
from kernel_call import KernelError, call


@each_isa
def test_strided_input_arrives_as_it_is(isa: int) -> None:
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1)[::-1]
    (y,) = call("copy", [x], [(np.float32, x.shape)], isa=isa)
    np.testing.assert_array_equal(y, x)


def test_a_refusal_carries_code_and_sentence() -> None:
    with pytest.raises(KernelError, match="shapes differ") as caught:
        call("copy", [np.zeros(3, np.float32)], [(np.float32, (4,))])
    assert caught.value.code == 7


@pytest.mark.parametrize("wrong", [[0], [0, -1]], ids=["one", "two"])
def test_a_failure_names_its_isa_level(wrong: list[int]) -> None:
    levels, ran = isa_levels(), []
    wrong = [levels[i] for i in wrong]

    @each_isa
    def planted(isa: int, rows: int) -> None:
        ran.append(isa)
        assert isa not in wrong, f"of {rows} rows"

    with pytest.raises((AssertionError, ExceptionGroup)) as caught:
        planted(rows=3)
    failures = getattr(caught.value, "exceptions", [caught.value])
    notes = [note for failure in failures for note in failure.__notes__]
    assert notes == [f"at the ISA level {isa_name(isa)}" for isa in dict.fromkeys(wrong)]
    assert ran == levels
    assert inspect.signature(planted).parameters.keys() == {"rows"}
