"""Padding of images by Pad as padding of what reads them, which makes no copy of the image for it.

    Pad of zeros -> Conv of padding p                      becomes     Conv of padding p + what Pad adds
    Pad of zeros -> AveragePool that counts padding        likewise
    Pad of -infinity -> MaxPool                            likewise; Pad of zeros, too, of what isn't negative

as Keras, TensorFlow and PyTorch's `nn.ZeroPad2d` have it before strided convolutions and pooling.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.rewire import attribute, integers, is_standard

#: Operators without negative results. A window of theirs with padding has the maximum that it has without.
NOT_NEGATIVE = ("Relu", "Sigmoid", "HardSigmoid", "Softmax", "Softplus", "Abs", "Exp")


class FoldPadding(ir.passes.InPlacePass):
    """Does so where amounts are constant and none is negative, or beside the image's spatial axes."""

    def __init__(self, facts: KnownFacts) -> None:
        self.facts = facts

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        facts, folded = self.facts.of(model), 0
        for node in [node for node in model.graph if is_standard(node, "Pad")]:
            amounts = _amounts(node, facts)
            if amounts is None:
                continue
            readers = [use.node for use in node.outputs[0].uses()]
            folded += sum(_fold(node, reader, amounts, facts) for reader in readers)
        return ir.passes.PassResult(model, folded > 0)


def _amounts(pad: ir.Node, facts: Facts) -> list[int] | None:
    """What is added before and behind the spatial axes, in the order of a convolution's pads."""
    data, constants = pad.inputs[0], [_constant(v) for v in pad.inputs[1:4]]
    dims = None if data is None else facts[data].dims
    if dims is None or len(dims) < 3 or not constants or constants[0] is None:
        return None
    if attribute(pad, "mode", "constant") != "constant":
        return None
    rank, given = len(dims), [int(n) for n in constants[0]]
    if len(pad.inputs) > 3 and pad.inputs[3] is not None and constants[2] is None:
        return None
    named = constants[2] if len(constants) > 2 and constants[2] is not None else range(rank)
    axes = [int(axis) % rank for axis in named]
    if len(given) != 2 * len(axes) or len(set(axes)) != len(axes):
        return None
    before, behind = [0] * rank, [0] * rank
    for i, axis in enumerate(axes):
        before[axis], behind[axis] = given[i], given[len(axes) + i]
    if any(before[:2]) or any(behind[:2]) or min(given, default=0) < 0:
        return None
    return [*before[2:], *behind[2:]]


def _constant(value: ir.Value | None) -> list[float] | None:
    tensor = None if value is None else value.const_value
    return None if tensor is None else np.ravel(tensor.numpy()).tolist()


def _fold(pad: ir.Node, reader: ir.Node, amounts: list[int], facts: Facts) -> bool:
    """Whether the reader now pads for itself."""
    source, spatial = pad.inputs[0], len(amounts) // 2
    assert source is not None
    if reader.inputs[0] is not pad.outputs[0] or any(v is pad.outputs[0] for v in reader.inputs[1:]):
        return False
    automatic = attribute(reader, "auto_pad", "NOTSET")
    own = [0] * 2 * spatial if automatic == "VALID" else integers(reader, "pads", [0] * 2 * spatial)
    if automatic not in ("NOTSET", "VALID") or len(own) != 2 * spatial or min(own, default=0) < 0:
        return False
    if not (_fill(pad) == 0 if is_standard(reader, "Conv") else _pool_fits(pad, reader, own, amounts)):
        return False
    reader.replace_input_with(0, source)
    pads = [a + b for a, b in zip(own, amounts, strict=True)]
    reader.attributes["pads"] = ir.AttrInt64s("pads", pads)
    reader.attributes.pop("auto_pad", None)
    if is_standard(reader, "AveragePool"):
        reader.attributes["count_include_pad"] = ir.AttrInt64("count_include_pad", 1)
    return True


def _fill(pad: ir.Node) -> float | None:
    """What is written into the padding; None when that is known at run time alone."""
    if len(pad.inputs) < 3 or pad.inputs[2] is None:
        return 0.0
    value = _constant(pad.inputs[2])
    return value[0] if value else None


def _pool_fits(pad: ir.Node, reader: ir.Node, own: list[int], amounts: list[int]) -> bool:
    """Whether a pooling has the same results with padding of its own, which is narrower than its windows."""
    if not is_standard(reader, "MaxPool", "AveragePool") or attribute(reader, "ceil_mode", 0):
        return False
    kernel, fill = integers(reader, "kernel_shape", []), _fill(pad)
    if any(a + b >= k for a, b, k in zip(own, amounts, [*kernel, *kernel], strict=True)):
        return False
    if is_standard(reader, "AveragePool"):
        return fill == 0 and (not any(own) or attribute(reader, "count_include_pad", 0) == 1)
    if fill is None or len(reader.outputs) > 1:  # positions count the padding
        return False
    source = pad.inputs[0].producer() if pad.inputs[0] is not None else None
    not_negative = source is not None and is_standard(source, *NOT_NEGATIVE)
    dilated = any(d != 1 for d in integers(reader, "dilations", [1]))  # a window may have no other element
    return not dilated and (fill == -np.inf or (fill <= 0 and not_negative))
