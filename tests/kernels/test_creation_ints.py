"""The ints kernel: integer arguments as a tensor."""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import call


@each_isa
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.int64, [3, -1, 2**40, 0]),
        (np.int32, [3, -1, 0, 0]),
        (np.bool_, [True, True, True, False]),
    ],
)
def test_elements_are_the_arguments(isa: int, dtype: type, expected: list[object]) -> None:
    (out,) = call("ints", [], [(dtype, (2, 2))], ints=[3, -1, 2**40, 0], isa=isa)
    np.testing.assert_array_equal(out, np.array(expected, dtype).reshape(2, 2))


def test_the_number_of_arguments_must_fit() -> None:
    with pytest.raises(Exception, match="as many integers"):
        call("ints", [], [(np.int64, (3,))], ints=[1, 2])
