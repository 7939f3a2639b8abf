"""Rotary position embeddings: RotaryEmbedding, ONNX's, and the custom RoPE, by kernel rope.

The kernel takes x of rank 4 with its sequence on axis 1 or 2, and tables [1 or B, rows, width].
"""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.views import broadcast
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef.dims import product, static
from ascend_ep.plan.kernel_params import ROPE
from ascend_ep.runtime._rt import lib


def _table(b: PlanBuilder, given: Operand, x_dims: Sequence[Dim]) -> Ref:
    """cos or sin that broadcasts to [B, heads..., S, W], as [1 or B, S, W]."""
    dims = [1] * (len(x_dims) - given.rank) + list(given.dims)
    if len(dims) != len(x_dims) or any(d != 1 for d in dims[1:-2]):
        raise Unsupported(f"its tables of shape {list(given.dims)} differ between heads")
    batch = dims[0] if len(dims) > 2 else 1
    flat = b.view(b.ref(given), [batch, *dims[-2:]])
    return broadcast(b, flat, [batch, x_dims[-2], dims[-1]])


def _row_positions(b: PlanBuilder, given: Operand) -> Ref:
    """position_ids [S] or [B, S], as [1 or B, S]."""
    if given.rank not in (1, 2):
        raise Unsupported(f"its position_ids have rank {given.rank}; they are [S] or [B, S]")
    return b.view(b.ref(given), [1, given.dims[0]] if given.rank == 1 else given.dims)


def _rows(b: PlanBuilder, given: Operand) -> Ref:
    """A table [P, W] whose rows positions choose."""
    if given.rank != 2:
        raise Unsupported(f"its tables have rank {given.rank}; with position_ids they are [positions, width]")
    return b.view(b.ref(given), [1, *given.dims])


def _emit(
    node: NodeView,
    b: PlanBuilder,
    dims: Sequence[Dim],
    tables: list[Ref],
    positions: Ref | None,
    ints: tuple[Dim, ...],
) -> None:
    """The call, on x and y seen with `dims`."""
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    x = b.ref(source)
    if list(source.dims) != list(dims):
        x = b.view(x, dims)
    if static(b.strides(x)[-1]) != 1:
        x = b.contiguous(x)
    kernel = "rope_regrouped" if ROPE.get(ints, "interleaved") == lib.ASC_ROPE_REGROUPED else "rope"
    ins = [x, *map(b.contiguous, tables), None if positions is None else b.contiguous(positions)]
    if list(target.dims) == list(dims):
        b.emit(kernel, ins, [b.out(target)], ints)
    else:
        y = b.temp(target.dtype, dims)
        b.emit(kernel, ins, [y], ints)
        b.bind(target, b.view(y, target.dims))


@lowers("rope")
def lower_rope(node: NodeView, b: PlanBuilder) -> None:
    """RoPE(x [..., S, D], cos, sin, position_ids?)."""
    source, cos, sin = (needed(node.inputs, i) for i in range(3))
    if source.rank < 2:
        raise Unsupported("its input has no sequence axis")
    given = operand(node.inputs, 3)
    if given is None:
        tables, positions = [_table(b, t, source.dims) for t in (cos, sin)], None
    else:
        tables, positions = [_rows(b, t) for t in (cos, sin)], _row_positions(b, given)
    lead = source.dims[:-2]
    dims = [lead[0] if lead else 1, product(lead[1:]), *source.dims[-2:]]
    ints = ROPE.pack(sequence_axis=2, rotary=dims[-1], interleaved=int(node.attr("interleaved", 0)))
    _emit(node, b, dims, tables, positions, ints)


@lowers("rotary_embedding")
def lower_rotary_embedding(node: NodeView, b: PlanBuilder) -> None:
    """RotaryEmbedding (opset 23): X [B, H, S, D] or [B, S, H D], caches of half the rotary width."""
    source, cos, sin = (needed(node.inputs, i) for i in range(3))
    heads = int(node.attr("num_heads", 0))
    if source.rank == 4:
        dims, axis = list(source.dims), 2
    elif source.rank == 3 and heads > 0:
        batch, length, hidden = source.dims
        dims, axis = [batch, length, heads, hidden // heads], 1
    else:
        raise Unsupported("its input is neither [B, H, S, D] nor [B, S, H D] with num_heads")
    given = operand(node.inputs, 3)
    if given is None:
        if cos.rank != 3:
            raise Unsupported("its caches are not [B, S, width], and there are no position_ids")
        tables, positions = [b.ref(cos), b.ref(sin)], None
    else:
        tables, positions = [_rows(b, t) for t in (cos, sin)], _row_positions(b, given)
    rotary = int(node.attr("rotary_embedding_dim", 0)) or dims[-1]
    ints = ROPE.pack(sequence_axis=axis, rotary=rotary, interleaved=int(node.attr("interleaved", 0)))
    _emit(node, b, dims, tables, positions, ints)
