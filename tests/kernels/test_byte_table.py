"""byte_table against numpy's take, to the bit: odd sizes, tails, runs of every length, each type of byte."""

from __future__ import annotations

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

BYTES = [np.uint8, np.int8]
#: dims of x, and the axis whose indices have a table each; None: one table
CASES = [
    ((), None), ((0,), None), ((1,), None), ((63,), None), ((64,), None), ((65,), None), ((3, 7, 129), None),
    ((20001,), None), ((5,), 0), ((3, 5), 1), ((2, 3, 7), 1), ((2, 3, 15), 1), ((2, 3, 4, 4), 1),
    ((2, 67, 9, 23), 1), ((1, 3, 61, 101), 1), ((2, 5, 7, 33), 3), ((4, 300), 1), ((0, 3, 4), 1), ((2, 0), 1),
    ((2, 3, 0), 1), ((70, 80), 0),
]  # fmt: skip


@each_isa
@pytest.mark.parametrize(("dims", "axis"), CASES)
@pytest.mark.parametrize("x_type", BYTES)
@pytest.mark.parametrize("y_type", BYTES)
def test_each_byte_by_its_table(isa: int, dims: tuple, axis: int | None, x_type: type, y_type: type) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, dims).astype(np.uint8)
    count = 1 if axis is None else dims[axis]
    tables = rng.integers(0, 256, (count, 256)).astype(np.uint8)
    which = 0 if axis is None else np.arange(count).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    wanted = tables[which, x].view(y_type)
    given = tables.view(y_type) if axis is not None else tables[0].view(y_type)
    (y,) = call("byte_table", [np.asarray(x).view(x_type), given], [(y_type, dims)], [axis or 0], isa=isa)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize(
    ("tables", "axis", "out"),
    [
        ((255,), 0, (2, 3, 4)),
        ((2, 256), 1, (2, 3, 4)),
        ((3, 256), 3, (2, 3, 4)),
        ((3, 256), -1, (2, 3, 4)),
        ((1, 3, 256), 1, (2, 3, 4)),
        ((256,), 0, (2, 3, 5)),
    ],
)
def test_refusals(tables: tuple, axis: int, out: tuple) -> None:
    x = np.zeros((2, 3, 4), np.uint8)
    with pytest.raises(KernelError):
        call("byte_table", [x, np.zeros(tables, np.uint8)], [(np.uint8, out)], [axis])
