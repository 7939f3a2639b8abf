"""Transposed convolutions as convolutions whose channels become neighbouring places.

Of a stride s, the outputs at places of one remainder modulo s see every s-th row of the kernel, so they are
an ordinary convolution; those of all remainders are one with s times the channels for each axis (Shi et al.
2016, "Is the deconvolution layer the same as a convolutional layer?"):

    ConvTranspose     becomes     Conv -> places from channels -> Slice (of padding that is no multiple of s)

The sums are the same products, none of them with a zero that the kernel doesn't have. An activation that
alone reads the result goes before the places, where the convolution computes it with its sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from ascend_ep.graph.passes.rewire import (
    add_constant,
    attribute,
    bypass,
    integers,
    is_standard,
    only_consumer,
)

FLOATS = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
MOST_AXES = 2
ACTIVATIONS = ("Relu", "Sigmoid", "Tanh", "Gelu")  # that are part of a convolution
#: The first operator set that has what is made here in the form it has here.
OPSET = 13


@dataclass(frozen=True)
class _Axis:
    """Of one spatial axis: kernel taps, stride, and what is cut from either end of the whole result."""

    kernel: int
    stride: int
    begin: int
    end: int

    @property
    def taps(self) -> int:
        return self.kernel // self.stride

    def fits(self) -> bool:
        whole = self.kernel % self.stride == 0 and self.begin >= 0 and self.end >= 0
        return whole and max(self.begin, self.end) // self.stride < self.taps

    def pads(self) -> tuple[int, int]:
        """Of the convolution: a tap less than the kernel has, less the strides that are cut."""
        return self.taps - 1 - self.begin // self.stride, self.taps - 1 - self.end // self.stride

    def cut(self) -> tuple[int, int]:
        return self.begin % self.stride, self.end % self.stride


class SubpixelConvolutions(ir.passes.InPlacePass):
    """Does so with constant weights, one group, and strides that divide the kernel and are equal."""

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        found = [node for node in model.graph if is_standard(node, "ConvTranspose")]
        version = max(OPSET, model.opset_imports.get("", OPSET))
        count = sum(_replace(node, axes, version) for node in found if (axes := _axes_of(node)) is not None)
        return ir.passes.PassResult(model, count > 0)


def _is_constant(value: ir.Value | None) -> bool:
    return value is not None and value.const_value is not None and value.is_initializer()


def _axes_of(node: ir.Node) -> list[_Axis] | None:
    """The axes of a convolution that this pass can write otherwise."""
    weight, bias = (*node.inputs, None)[1:3]
    if weight is None or not _is_constant(weight) or weight.dtype not in FLOATS or weight.shape is None:
        return None
    if bias is not None and not _is_constant(bias):
        return None
    kernel = weight.shape.numpy()[2:]
    rank = len(kernel)
    plain = attribute(node, "auto_pad", "NOTSET") == "NOTSET" and attribute(node, "output_shape") is None
    if not plain or attribute(node, "group", 1) != 1 or not 1 <= rank <= MOST_AXES:
        return None
    if any(d != 1 for d in integers(node, "dilations", [1] * rank)):
        return None
    strides, pads = integers(node, "strides", [1] * rank), integers(node, "pads", [0] * 2 * rank)
    added = integers(node, "output_padding", [0] * rank)
    if len(set(strides)) != 1 or not len(strides) == len(added) == len(pads) // 2 == rank:
        return None
    axes = [_Axis(kernel[i], strides[i], pads[i], pads[rank + i] - added[i]) for i in range(rank)]
    return axes if all(a.fits() for a in axes) else None


def _replace(node: ir.Node, axes: Sequence[_Axis], version: int) -> bool:
    graph, weight, bias = node.graph, *(*node.inputs, None)[1:3]
    assert isinstance(graph, ir.Graph)
    assert weight is not None
    assert weight.const_value is not None
    stride, rank = axes[0].stride, len(axes)
    values = weight.const_value.numpy()
    inputs, outputs = values.shape[:2]
    apart = values.reshape(inputs, outputs, *(n for a in axes for n in (a.taps, stride)))
    apart = np.flip(apart, tuple(range(2, 2 + 2 * rank, 2)))
    order = (1, *range(3, 3 + 2 * rank, 2), 0, *range(2, 2 + 2 * rank, 2))
    kernel = np.ascontiguousarray(apart.transpose(order)).reshape(-1, inputs, *(a.taps for a in axes))
    given = [node.inputs[0], add_constant(graph, f"{weight.name}.apart", ir.tensor(kernel))]
    if bias is not None and bias.const_value is not None:
        repeated = np.repeat(bias.const_value.numpy(), stride**rank)
        given.append(add_constant(graph, f"{bias.name}.apart", ir.tensor(repeated)))

    base = node.outputs[0].name
    step = _Steps(node, graph, version)
    pads = [p for side in zip(*(a.pads() for a in axes), strict=True) for p in side]
    made = step.add("Conv", given, f"{base}.apart", pads=pads, kernel_shape=[a.taps for a in axes])
    made.producer().name = node.name  # type: ignore[union-attr]  # options and reports name it
    last = node
    after = only_consumer(node.outputs[0])
    if after is not None and after.graph is graph and is_standard(after, *ACTIVATIONS):
        made = step.again(after, made, f"{base}.active")
        last = after
    if stride > 1 and rank == 2:
        made = step.add("DepthToSpace", [made], f"{base}.places", blocksize=stride, mode="CRD")
    elif stride > 1:
        made = step.add(
            "Reshape", [made, step.ints(f"{base}.split", [0, outputs, stride, -1])], f"{base}.parts"
        )
        made = step.add("Transpose", [made], f"{base}.transposed", perm=[0, 1, 3, 2])
        made = step.add("Reshape", [made, step.ints(f"{base}.joined", [0, outputs, -1])], f"{base}.places")
    begins, ends = zip(*(a.cut() for a in axes), strict=True)
    if any((*begins, *ends)):
        till = [-e if e else np.iinfo(np.int64).max for e in ends]
        bounds = [step.ints(f"{base}.{n}", v) for n, v in (("first", begins), ("last", till))]
        bounds.append(step.ints(f"{base}.axes", range(2, 2 + rank)))
        made = step.add("Slice", [made, *bounds], f"{base}.within")
    made.shape = node.outputs[0].shape
    changed = bypass(last, made)
    if last is not node:
        graph.remove(node, safe=True)
    return changed


@dataclass
class _Steps:
    """Nodes of this operator set put before `node`, whose results have its type."""

    node: ir.Node
    graph: ir.Graph
    version: int

    def ints(self, name: str, values: Sequence[int]) -> ir.Value:
        return add_constant(self.graph, name, ir.tensor(np.array(values, np.int64)))

    def again(self, unary: ir.Node, given: ir.Value, name: str) -> ir.Value:
        """The same node, of another operand."""
        made = ir.node(
            unary.op_type, [given], attributes=unary.attributes, version=unary.version, name=unary.name
        )
        return self._put(made, name)

    def add(
        self,
        op_type: str,
        given: Sequence[ir.Value | None],
        name: str,
        **attributes: int | str | Sequence[int],
    ) -> ir.Value:
        title = f"{self.node.name}.{op_type}"
        made = ir.node(op_type, given, attributes=attributes, version=self.version, name=title)
        return self._put(made, name)

    def _put(self, made: ir.Node, name: str) -> ir.Value:
        made.outputs[0].name = name
        made.outputs[0].type = self.node.outputs[0].type
        self.graph.insert_before(self.node, made)
        return made.outputs[0]
