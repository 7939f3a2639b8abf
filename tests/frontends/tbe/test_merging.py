"""Files that merge dimensions for their placeholders: the operator reduces over the input's own."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tbe_files import computed, describe_file

from ascend_ep.frontends.tbe.toolkit.merging import Merging, counts_of, own_axes

#: `merge` makes the placeholder's shape from the input's; the rows of it are centred, or reduced.
FILE = """
    from functools import reduce
    import operator
    import tbe.dsl as tbe
    from tbe import tvm

    def product(sizes):
        return reduce(operator.mul, sizes, 1)

    def reduced(x, {w}y, kernel_name="reduced"):
        shape = x["shape"]
        merged = {merged}
        data = tvm.placeholder(merged, name="data", dtype=x["dtype"])
        tensors = [data]
        {body}
        with tvm.target.cce():
            sch = tbe.auto_schedule(res)
        tbe.build(sch, {{"name": kernel_name, "tensor_list": [*tensors, res]}})
"""
ALL, ROWS, INNER = "[product(shape)]", "[product(shape[:-1]), shape[-1]]", "[shape[0], product(shape[1:])]"
X = np.random.default_rng(1).normal(size=(3, 5, 4))


@pytest.mark.parametrize(
    ("merged", "body", "expected"),
    [
        (ALL, "res = tbe.reduce_max(data, 0, True)", lambda x: x.max(keepdims=True)),
        (ALL, "res = tbe.vsub(data, tbe.broadcast(tbe.reduce_sum(data, 0, True), [*merged]))",
         lambda x: x - x.sum()),
        (ROWS, "res = tbe.reduce_sum(data, 0, True)", lambda x: x.sum((0, 1), keepdims=True)),
        (ROWS, "res = tbe.reduce_sum(data, 0, False)", lambda x: x.sum((0, 1))),
        (ROWS, "res = tbe.reduce_min(data, 1, True)", lambda x: x.min(2, keepdims=True)),
        (INNER, "res = tbe.reduce_sum(data, 1, False)", lambda x: x.sum((1, 2))),
        (
            INNER,
            "low = tbe.reduce_min(data, 1, True)\n        high = tbe.reduce_max(low, 0, True)\n"
            "        res = tbe.vadd(data, tbe.broadcast(high, merged))",
            lambda x: x + x.min((1, 2), keepdims=True).max(),
        ),
    ],
)  # fmt: skip
def test_reductions_of_merged_dimensions(tmp_path, merged, body, expected) -> None:
    described = describe_file(tmp_path, FILE.format(merged=merged, body=body, w=""), (2, 7, 3))
    np.testing.assert_allclose(np.ravel(computed(described, X)), np.ravel(expected(X)), rtol=1e-9)
    assert not any("only" in w for w in described.warnings), described.warnings


def test_a_second_input_is_aligned_with_the_merged_one(tmp_path) -> None:
    """Its 1 stands for as many dimensions."""
    body = (
        'w = tvm.placeholder([1, shape[-1]], name="w", dtype=x["dtype"])\n        tensors.append(w)\n'
        "        res = tbe.reduce_sum(tbe.vmul(data, tbe.broadcast(w, merged)), 0, True)"
    )
    described = describe_file(tmp_path, FILE.format(merged=ROWS, body=body, w="w, "), (2, 7, 3), (3,))
    w = np.arange(4.0)
    np.testing.assert_allclose(np.ravel(computed(described, X, w)), (X * w).sum((0, 1)))


@pytest.mark.parametrize("seed", range(200))
def test_any_grouping_is_found_and_its_axes(seed) -> None:
    """Groups of random sizes: each merged axis stands for the own ones that it was made of."""
    draw = random.Random(seed)
    groups = [[draw.randint(2, 5) for _ in range(draw.randint(1, 3))] for _ in range(draw.randint(1, 4))]
    own, placed = [n for g in groups for n in g], [int(np.prod(g)) for g in groups]
    assert counts_of(own, placed) == [len(g) for g in groups]
    merging = Merging(
        {
            0: (own, placed),
            1: ([placed[-1]] if len(groups[-1]) == 1 else groups[-1], [1] * (len(groups) - 1) + placed[-1:]),
        }
    )
    x = np.random.default_rng(seed).normal(size=own)
    w = np.random.default_rng(seed + 1).normal(size=groups[-1])
    if max(map(len, groups)) == 1:
        assert not merging.merges
        return
    assert merging.merges
    axes = draw.sample(range(-len(groups), 0), draw.randint(1, len(groups)))
    merged = x.reshape(placed).sum(tuple(axes), keepdims=True) + w.reshape(-1)
    kept = x.sum(own_axes(axes, merging.placeholder(0)), keepdims=True) + np.expand_dims(w, merging.added(1))
    np.testing.assert_allclose(
        np.ravel(np.broadcast_to(merged, placed)), np.ravel(np.broadcast_to(kept, own))
    )


def test_what_is_no_merging() -> None:
    assert counts_of([6, 4], [2, 3, 4]) is None
    assert counts_of([4, 6], [6, 4]) is None
    assert counts_of([3, 1, 4], [12]) == [3]
    assert counts_of([1, 4], [4]) == [2]
    assert counts_of([4], [1, 4]) == [0, 1]
    assert not Merging({0: ([2, 3], [6]), 1: ([6], [6])}).merges
