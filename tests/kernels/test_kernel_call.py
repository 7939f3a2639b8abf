"""The harness itself: strides reach the kernel, refusals become KernelError."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_call import KernelError, call, isa_levels


@pytest.mark.parametrize("isa", isa_levels())
def test_strided_input_arrives_as_it_is(isa: int) -> None:
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1)[::-1]
    (y,) = call("copy", [x], [(np.float32, x.shape)], isa=isa)
    np.testing.assert_array_equal(y, x)


def test_a_refusal_carries_code_and_sentence() -> None:
    with pytest.raises(KernelError, match="shapes differ") as caught:
        call("copy", [np.zeros(3, np.float32)], [(np.float32, (4,))])
    assert caught.value.code == 7
