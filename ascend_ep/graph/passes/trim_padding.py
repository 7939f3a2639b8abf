"""Causal convolutions: what is cut off a convolution's result is not computed.

    Conv of padding (p, q) -> Slice without b places before, e behind     becomes     Conv of (p - b, q - e)

as exporters write `conv(x)[..., :-q]`, so that what follows can become the convolution's epilogue.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.rewire import attribute, bypass, integers, is_standard, only_consumer

NO_END = 2**31 - 1  # what exporters write for "to the end", or more


class TrimPadding(ir.passes.InPlacePass):
    """Does so for strides of 1, and slices of padding alone that leave as many places as the input has."""

    def __init__(self, facts: KnownFacts) -> None:
        self.facts = facts

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        facts = self.facts.of(model)
        slices = [node for node in model.graph if is_standard(node, "Slice")]
        return ir.passes.PassResult(model, sum(_trim(node, facts) for node in slices) > 0)


def _trim(node: ir.Node, facts: Facts) -> bool:
    data = node.inputs[0]
    conv = None if data is None else data.producer()
    if data is None or conv is None or not is_standard(conv, "Conv") or only_consumer(data) is not node:
        return False
    weight = None if len(conv.inputs) < 2 or conv.inputs[1] is None else facts[conv.inputs[1]].dims
    dims, cut = facts[data].dims, _bounds(node)
    if dims is None or weight is None or cut is None or attribute(conv, "auto_pad", "NOTSET") != "NOTSET":
        return False
    spatial = len(dims) - 2
    pads = integers(conv, "pads", [0] * 2 * spatial)
    strides = integers(conv, "strides", [1] * spatial)
    for axis, first, last in cut:
        at, length = axis % len(dims) - 2, dims[axis]
        if last >= NO_END:
            last = 0
        elif last > 0:
            if not isinstance(length, int):
                return False
            last = min(last - length, 0)
        if at < 0 or first < 0 or strides[at] != 1:
            return False
        pads[at] -= first
        pads[spatial + at] += last
        kernel, dilation = weight[2 + at], integers(conv, "dilations", [1] * spatial)[at]
        if not isinstance(kernel, int) or pads[at] + pads[spatial + at] < (kernel - 1) * dilation:
            return False
    if min(pads) < 0:
        return False
    conv.attributes["pads"] = ir.AttrInt64s("pads", pads)
    data.shape = node.outputs[0].shape
    return bypass(node, data)


def _bounds(node: ir.Node) -> list[tuple[int, int, int]] | None:
    """(axis, first, last) of a slice with constant bounds that takes every element between; none is at 0."""
    given = [None if v is None or v.const_value is None else v.const_value.numpy() for v in node.inputs[1:]]
    if len(given) < 3 or any(v is None for v in given):
        return None
    firsts, lasts, axes = (np.ravel(v).tolist() for v in given[:3] if v is not None)
    if len(given) > 3 and given[3] is not None and (given[3] != 1).any():
        return None
    return None if 0 in lasts else list(zip(axes, firsts, lasts, strict=True))
