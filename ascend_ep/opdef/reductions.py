"""Reductions as expressions over sum, mean, max and min, for readers that have no kernel of their own."""

from __future__ import annotations

import math

from ascend_ep.opdef.expression import Apply, AttributeRef, Constant, Expression, Index, Reduce

#: Reductions that every reader computes itself.
ELEMENTARY = ("sum", "mean", "prod", "max", "min")


def expanded(node: Reduce) -> Expression:
    """The node over ELEMENTARY reductions; itself if it is one.

    var: the mean of squared distances from the mean. logsumexp: the exponentials are of distances from the
    largest, unless that is infinite. argmax: the smallest index of an element that equals the largest or is
    NaN.
    """
    if node.op in ELEMENTARY:
        return node
    arg, axes, keepdims = node.arg, node.axes, node.keepdims
    if node.op == "var":
        centred = Apply("sub", (arg, Reduce("mean", arg, axes)))
        return Reduce("mean", Apply("mul", (centred, centred)), axes, keepdims)
    if node.op == "logsumexp":
        total = Reduce(
            "sum", Apply("exp", (Apply("sub", (arg, _finite_largest(node, True))),)), axes, keepdims
        )
        return Apply("add", (_finite_largest(node, keepdims), Apply("log", (total,))))
    if node.op in ("any", "all"):
        counted = Constant(1.0), Constant(0.0)
        count = Apply("select", (arg, *(counted if node.op == "any" else counted[::-1])))
        return Apply(
            "ne" if node.op == "any" else "eq", (Reduce("sum", count, axes, keepdims), Constant(0.0))
        )
    assert isinstance(axes, tuple | AttributeRef), "the parser takes a single axis"
    axis = axes if isinstance(axes, AttributeRef) else axes[0]
    best = Reduce(node.op.removeprefix("arg"), arg, axes)
    found = Apply("or", (Apply("eq", (arg, best)), Apply("isnan", (arg,))))
    index = Apply("select", (found, Index(arg, axis), Constant(math.inf)))
    return Reduce("min", index, axes, keepdims)


def _finite_largest(node: Reduce, keepdims: bool) -> Expression:
    """The largest element, or 0 where it is infinite or NaN."""
    largest = Reduce("max", node.arg, node.axes, keepdims)
    finite = Apply("lt", (Apply("abs", (largest,)), Constant(math.inf)))
    return Apply("select", (finite, largest, Constant(0.0)))
