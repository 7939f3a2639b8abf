"""The DSL's matrix product, concatenation and transposition of tensors that lie as their shapes say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascend_ep.frontends.tbe.toolkit.casts import cast, tensor_argument
from ascend_ep.frontends.tbe.toolkit.failure import DSL, DslError, inexpressible
from ascend_ep.frontends.tbe.toolkit.nodes import Node, transposed
from ascend_ep.frontends.tbe.toolkit.tensors import Tensor, broadcast_dims, elementwise, materialized, plain

_BLOCKS = "it is of matrices in blocks; here it takes ND, or give the ONNX model the standard operator MatMul"


def matmul(
    tensor_a: Any,
    tensor_b: Any,
    trans_a: bool = False,
    trans_b: bool = False,
    format_a: str = "ND",
    format_b: str = "ND",
    alpha_num: float = 1.0,
    beta_num: float = 1.0,
    dst_dtype: str = "",
    tensor_bias: Any = None,
    quantize_params: Any = None,
    *others: Any,
    **named: Any,
) -> Tensor:
    """matmul of ND matrices, those before the last two dimensions broadcast; plus a bias. Raises E90001."""
    a, b = (materialized(tensor_argument("matmul", t)) for t in (tensor_a, tensor_b))
    if {str(format_a), str(format_b)} - {"ND"} or min(a.ndim, b.ndim) < 2 or max(a.ndim, b.ndim) > 3:
        raise inexpressible("matmul", _BLOCKS)
    if quantize_params is not None or any(o is not None for o in others):
        raise inexpressible("matmul", "its quantisation isn't an expression")
    a, b = (_swapped(t) if swap else t for t, swap in ((a, trans_a), (b, trans_b)))
    if int(a.shape[-1]) != int(b.shape[-2]):
        raise DslError(
            DSL, f"matmul of {list(plain(a.shape))} and {list(plain(b.shape))}: unequal inner sizes"
        )
    shape = [*broadcast_dims(a.shape[:-2] or [1], b.shape[:-2] or [1]), a.shape[-2], b.shape[-1]]
    shape = shape[-max(a.ndim, b.ndim) :]
    result = Tensor(Node("matmul", (a.node, b.node)), shape, a.dtype)
    if alpha_num != 1.0:
        result = elementwise("mul", result.dtype, result, alpha_num)
    if tensor_bias is not None:
        bias = tensor_argument("matmul", tensor_bias)
        result = elementwise("add", bias.dtype, result, bias)
    return cast(result, dst_dtype) if dst_dtype and dst_dtype != result.dtype else result


def _swapped(tensor: Tensor) -> Tensor:
    *batch, rows, columns = tensor.shape
    return Tensor(Node("transpose", (tensor.node,), (-2, -1)), [*batch, columns, rows], tensor.dtype)


def concat(raw_tensors: Sequence[Any], axis: int) -> Tensor:
    """Tensors one behind the other along an axis. Raises E90001."""
    tensors = [materialized(tensor_argument("concat", t)) for t in raw_tensors]
    first = tensors[0]
    at = _axis("concat", axis, first.ndim)
    rest = {plain([*t.shape[:at], *t.shape[at:][1:]]) for t in tensors}
    if len(rest) > 1 or any(t.ndim != first.ndim or t.dtype != first.dtype for t in tensors):
        texts = " and ".join(f"{t.dtype} {list(plain(t.shape))}" for t in tensors)
        raise DslError(DSL, f"concat along axis {axis} takes tensors alike but for that axis, not {texts}")
    shape = list(first.shape)
    shape[at] = sum(t.shape[at] for t in tensors)
    return Tensor(Node("concat", tuple(t.node for t in tensors), at), shape, first.dtype)


def transpose(tensor: Any, axes: Sequence[int]) -> Tensor:
    """The dimension axes[i] of a tensor as its i-th. Raises E90001."""
    data = materialized(tensor_argument("transpose", tensor))
    order = [_axis("transpose", a, data.ndim) % data.ndim for a in axes]
    if sorted(order) != list(range(data.ndim)):
        raise DslError(DSL, f"transpose of {data.ndim} dimensions takes each once, not {list(axes)}")
    node = transposed(data.node, [order.index(i) for i in range(data.ndim)])
    return Tensor(node, [data.shape[i] for i in order], data.dtype)


def _axis(function: str, axis: int, rank: int) -> int:
    """From the end."""
    if not -rank <= axis < rank:
        raise DslError(DSL, f"{function} of {rank} dimensions has no axis {axis}")
    return int(axis) % rank - rank
