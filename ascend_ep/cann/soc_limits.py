"""What of a model would not exist, or not fit, on the chip that it is meant for.

The CPU computes it all the same; the device would refuse it, change its precision, or take it to its AI CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import onnx_ir as ir

from ascend_ep.cann.soc import Soc
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.naming import label
from ascend_ep.opdef.dims import static

FLOAT, DOUBLE, BFLOAT16 = (ir.DataType[name].value for name in ("FLOAT", "DOUBLE", "BFLOAT16"))

#: Operators of the cube unit.
CUBE = frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum"})

#: Channels that the cube unit takes at once.
CUBE_BLOCK = 16

#: Operators that are one kernel from the second generation of training chips on, and nothing before.
FUSED = frozenset(
    {
        *("Attention", "ScaledDotProductAttention", "MultiHeadAttention", "GroupQueryAttention"),
        *("RotaryEmbedding", "RoPE", "SwiGLU"),
    }
)

#: Operators that need whole rows of their last axis at once, and how many rows of float32 they hold.
ROWS = {
    "Softmax": 2,
    "LogSoftmax": 2,
    "LayerNormalization": 3,
    "RMSNormalization": 3,
    "RMSNorm": 3,
    "LayerNorm": 3,
    "TopK": 4,
}


@dataclass(frozen=True)
class Limit:
    """One node and, in a sentence, what the chip has to say of it."""

    node: str
    op_type: str
    reason: str


def soc_limits(model: ir.Model, facts: Facts, soc: Soc, precision: str, *, exact: bool) -> list[Limit]:
    """The limits that the nodes of the main graph meet, in order. Sizes that aren't known meet none. `exact`:
    the precision keeps float32 in the cube unit's products."""
    return [
        Limit(label(node), node.op_type, reason)
        for node in model.graph
        for reason in _reasons(node, facts, soc, precision, exact)
    ]


def _reasons(node: ir.Node, facts: Facts, soc: Soc, precision: str, exact: bool) -> Iterator[str]:
    types = {facts[v].dtype for v in (*node.inputs, *node.outputs) if v is not None and v.name}
    if BFLOAT16 in types and not soc.bfloat16:
        yield f"{soc.name} has no bfloat16; chips from Ascend910B1 on have"
    if DOUBLE in types and node.op_type not in ("Cast", "Constant"):
        yield f"the AI cores of {soc.name} have no float64; it would run on the AI CPU"
    if node.op_type in CUBE and FLOAT in types and exact and not soc.cube_float32:
        yield (
            f"the cube unit of {soc.name} multiplies float16 and int8 only, and precision {precision} keeps"
            " float32"
        )
    if node.op_type in FUSED and not soc.fused_operators:
        yield f"{soc.name} has no such kernel; chips from Ascend910B1 on have"
    if node.op_type in ROWS:
        yield from _row(node, facts, soc)
    if node.op_type == "Conv":
        yield from _image_rows(node, facts, soc)


def _image_rows(node: ir.Node, facts: Facts, soc: Soc) -> Iterator[str]:
    """Whether what one row of a convolution's result reads fits L1: a block of channels in float16."""
    image, kernel = (facts[v].dims if v is not None else None for v in node.inputs[:2])
    if image is None or kernel is None or len(image) != 4 or len(kernel) != 4:
        return
    width, rows = static(image[3]), static(kernel[2])
    given = node.attributes.get("dilations")
    dilations = given.as_ints() if given is not None and given.type == ir.AttributeType.INTS else ()
    if width is None or rows is None:
        return
    reach = (rows - 1) * (dilations[0] if dilations else 1) + 1
    needed = reach * width * CUBE_BLOCK * 2
    if needed > soc.l1:
        yield (
            f"the {reach} rows of {width} pixels under one row of its result take {needed} bytes of"
            f" {soc.name}'s L1, which has {soc.l1}; the device would refuse it"
        )


def _row(node: ir.Node, facts: Facts, soc: Soc) -> Iterator[str]:
    """Whether the rows that an operator holds at once fit the unified buffer."""
    first = node.inputs[0] if node.inputs else None
    dims = None if first is None else facts[first].dims
    if not dims:
        return
    axis = node.attributes.get("axis")
    start = axis.as_int() if axis is not None and axis.type == ir.AttributeType.INT else -1
    whole = "Norm" in node.op_type and "axis" in node.attributes
    sizes = [static(d) for d in (dims[start:] if whole else dims[start : start + 1 or None])]
    known = [size for size in sizes if size is not None]
    if len(known) != len(sizes):
        return
    elements = prod(known)
    needed = elements * 4 * ROWS[node.op_type]
    if needed > soc.ub:
        yield (
            f"a row of {elements} elements takes {needed} bytes of {soc.name}'s unified buffer, which has"
            f" {soc.ub}; it would be computed in parts, in more passes over memory"
        )
