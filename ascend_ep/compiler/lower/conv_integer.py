"""ConvInteger and QLinearConv as calls of native/kernels/conv/qconv.c.

Weights are stored as the kernel reads a window: runs of bytes, each made up to a multiple of four by zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.matmul_integer import Tables, requantisation, right_zero
from ascend_ep.compiler.lower.windows import kernel_shape, window_of
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Unsupported, lowers
from ascend_ep.compiler.rewrites.packed_integers import ColumnSums, signed
from ascend_ep.element_types import INT8, INT32, UINT8
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import QCONV
from ascend_ep.plan.plan import TensorSource


@dataclass(eq=False)
class Runs:
    """Weights [M, C / groups, kernel..] as int8 [groups, runs, M / groups]; read when the bundle is written.

    A run is a row of the window when its taps are neighbours (`joined`), else one tap; channels are the
    fastest. Each is made a multiple of 4 long.
    """

    source: NDArray[np.generic] | TensorSource
    groups: int
    joined: bool

    def numpy(self) -> NDArray[np.generic]:
        given = self.source if isinstance(self.source, np.ndarray) else self.source.numpy()
        array = signed(given)
        outputs, fan_in, *kernel = array.shape
        taps = array.reshape(self.groups, outputs // self.groups, fan_in, -1).transpose(0, 3, 2, 1)
        last = kernel[-1] if self.joined else 1
        runs = taps.reshape(self.groups, prod(kernel) // last, last * fan_in, outputs // self.groups)
        runs = np.pad(runs, ((0, 0), (0, 0), (0, -runs.shape[2] % 4), (0, 0)))
        return runs.reshape(self.groups, -1, outputs // self.groups)


@dataclass(eq=False)
class TapsFirst:
    """Weights of channels apart, [C, 1, kernel..] as int8 [taps, C]."""

    source: NDArray[np.generic] | TensorSource

    def numpy(self) -> NDArray[np.generic]:
        given = self.source if isinstance(self.source, np.ndarray) else self.source.numpy()
        return np.ascontiguousarray(signed(given).reshape(given.shape[0], -1).T)


def _known(dims: Sequence[Dim]) -> list[int]:
    found = [static(d) for d in dims]
    return [d for d in found if d is not None]


def emit_convolution(node: NodeView, b: PlanBuilder, x: Operand, w: Operand, tables: Tables) -> None:
    """The node's convolution of x and constant weights."""
    out, group = needed(node.outputs, 0), int(node.attr("group", 1))
    dims = _known(w.dims)
    if not 3 <= x.rank <= 4 or len(dims) != x.rank:
        raise Unsupported(f"its images have {x.rank - 2} spatial axes; the kernel has one or two")
    if w.constant is None:
        raise Unsupported("its weights are no constant")
    if group < 1 or dims[0] % group or static(x.dims[1]) != dims[1] * group:
        raise Unsupported(f"its group {group} doesn't fit {x.dims[1]} channels")
    if any(each.dtype not in (UINT8, INT8) for each in (x, w)):
        raise Unsupported("only convolutions of 8 bits are native among those of integers")
    window = window_of(node, x.dims[2:], kernel_shape(node, w.dims[2:]))
    joined = group == 1 and window.dilation[-1] == 1
    matrix: Runs | TapsFirst
    if dims[1] == 1 and dims[0] == group:
        matrix = TapsFirst(w.constant)
        weights = b.packed(matrix, (prod(dims[2:]), dims[0]), INT8, "plain")
    else:
        matrix = Runs(w.constant, group, joined)
        last = dims[-1] if joined else 1
        rows = prod(dims[2:]) // last * (-(-last * dims[1] // 4) * 4)
        weights = b.packed(matrix, (group, rows, dims[0] // group), INT8, "vnni4_32")
    sums = b.packed(ColumnSums(matrix), (dims[0],), INT32, "plain")
    call = requantisation(b, tables, dims[0], out.dtype, sums, right_zero(b, w.dtype, tables.b_zero))
    ints = QCONV.pack(*window.conv_axes(), group=group, x_last=0, y_last=0)
    b.emit("qconv", [b.ref(x), weights, *call.tables], [b.out(out)], ints, call.floats)


@lowers("conv_integer")
def lower_conv_integer(node: NodeView, b: PlanBuilder) -> None:
    tables = Tables(operand(node.inputs, 2), operand(node.inputs, 3))
    emit_convolution(node, b, needed(node.inputs, 0), needed(node.inputs, 1), tables)


@lowers("qlinear_conv")
def lower_qlinear_conv(node: NodeView, b: PlanBuilder) -> None:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (needed(node.inputs, i) for i in range(8))
    tables = Tables(x_zero, w_zero, operand(node.inputs, 8), x_scale, w_scale, y_scale, y_zero)
    emit_convolution(node, b, x, w, tables)
