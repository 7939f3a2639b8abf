"""What a kernel is compared with: formulas with a head, without one, and with the name of their result."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.kernels.formula_reference import formula_outputs

X, Y = np.arange(3.0), np.array([2.0, 0.5, 1.0])


@pytest.mark.parametrize(
    "text", ["x + y * 2", "z = x + y * 2", "F(a, b) = a + b * 2", "F(a, b) -> z = a + b * 2"]
)
def test_forms(text: str) -> None:
    (found,) = formula_outputs(text, ["x", "y"], [X, Y], {})
    np.testing.assert_array_equal(found, X + Y * 2)


def test_an_input_is_no_result() -> None:
    with pytest.raises(AscendError):
        formula_outputs("x = x + y", ["x", "y"], [X, Y], {})
