"""The DSL's broadcast and reductions, and what the expression form can't say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ascend_ep.frontends.tbe.toolkit.casts import cast, tensor_argument
from ascend_ep.frontends.tbe.toolkit.choice import vsel
from ascend_ep.frontends.tbe.toolkit.compute import compute
from ascend_ep.frontends.tbe.toolkit.elements import DTYPES, Element, Number
from ascend_ep.frontends.tbe.toolkit.failure import BROADCAST, DSL, DslError, Inexpressible, inexpressible
from ascend_ep.frontends.tbe.toolkit.nodes import Node, node_of
from ascend_ep.frontends.tbe.toolkit.tensors import (
    Tensor,
    broadcast_dims,
    materialized,
    operand_node,
    plain,
    shape_list,
)
from ascend_ep.frontends.tbe.toolkit.variables import Variable


def broadcast(var: Any, shape: Any, output_dtype: str | None = None) -> Tensor:
    """A tensor or number in a larger shape."""
    dims = shape_list(shape)
    if any(isinstance(d, Variable) for d in dims):
        raise Inexpressible("broadcast to run-time variables: use the placeholder's shape")
    if not isinstance(var, Tensor):
        if isinstance(var, Element) and not isinstance(var, Number):
            raise DslError(DSL, "broadcast takes a tensor or a number, not one element")
        dtype = (
            output_dtype or getattr(var, "dtype", None) or ("float32" if isinstance(var, float) else "int32")
        )
        if dtype not in DTYPES:
            raise DslError(DSL, f"broadcast knows no element type {str(dtype)[:40]!r}")
        return Tensor(operand_node(var), dims, dtype, ())
    tensor = tensor_argument("broadcast", var)
    if plain(broadcast_dims(tensor.shape, dims)) != plain(dims):
        raise DslError(
            BROADCAST,
            f"a tensor of shape {list(plain(tensor.shape))} can't be broadcast to {list(plain(dims))}",
        )
    result = Tensor(tensor.node, dims, tensor.dtype, tensor.actual, name=tensor.name)
    return cast(result, output_dtype) if output_dtype else result


def _axes(function: str, axis: Any, rank: int) -> tuple[Any, ...]:
    """The axes of a reduction from the end, sorted; an attribute stays one. Raises E90001."""
    node = node_of(axis) if isinstance(axis, int) else None
    if node is not None and node.op == "attribute":
        return (node,)
    listed = range(rank) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    found = set()
    for a in listed:
        number = a.number if isinstance(a, Number) else a
        if not isinstance(number, int) or isinstance(number, bool) or not -rank <= number < rank:
            raise DslError(DSL, f"{function} of {rank} dimensions has no axis {str(number)[:40]}")
        found.add(int(number) % rank - rank)
    return tuple(sorted(found))


def _reduction(name: str, op: str) -> Callable[..., Any]:
    def reduce(raw_tensor: Any, axis: Any, keepdims: Any = False, **_ignored: object) -> Any:
        if isinstance(raw_tensor, list | tuple):
            return [reduce(t, axis, keepdims) for t in raw_tensor]
        given = tensor_argument(name, raw_tensor)
        tensor = materialized(cast(given, "bool") if op in ("all", "any") else given)
        axes = _axes(name, axis, len(tensor.shape))
        keep = bool(keepdims)
        if not axes:
            return tensor
        if isinstance(axes[0], Node):
            reduced = (int(axis) % len(tensor.shape) - len(tensor.shape),)
            node = Node("reduce", (tensor.node,), (op, axes[0], keep))
        else:
            reduced = axes
            every = len(axes) == len(tensor.shape) > 1
            node = Node("reduce", (tensor.node,), (op, "all" if every else axes, keep))
        gone = len(reduced) == len(tensor.shape) and not keep
        return Tensor(node, _without(tensor.shape, reduced, keep), tensor.dtype, () if gone else None)

    reduce.__name__ = name
    return reduce


def _without(shape: Sequence[int], axes: tuple[int, ...], keep: bool) -> list[int]:
    rank = len(shape)
    dims = [(1 if a - rank in axes else d, a - rank in axes) for a, d in enumerate(shape)]
    return [d for d, gone in dims if keep or not gone] or [1]


reduce_sum, reduce_mean = _reduction("reduce_sum", "sum"), _reduction("reduce_mean", "mean")
reduce_max, reduce_min = _reduction("reduce_max", "max"), _reduction("reduce_min", "min")
reduce_prod = _reduction("reduce_prod", "prod")
reduce_all, reduce_any = _reduction("reduce_all", "all"), _reduction("reduce_any", "any")


def tuple_sum(input_tensor_list: Any, axis: Any, keepdims: bool = False) -> list[Tensor]:
    """The sums of several tensors over the same axes."""
    return [reduce_sum(t, axis, keepdims) for t in input_tensor_list]


def set_value(tensor: Any, condition: Any, value: Any) -> Tensor:
    """The tensor with `value` where condition(*indices) holds; either may be a function of the indices."""
    data = tensor_argument("set_value", tensor)
    truth = compute(data.shape, condition, name="condition")
    other = compute(data.shape, value, name="value") if callable(value) else value
    return vsel(cast(truth, "bool"), other, data)


def _refused(name: str, reason: str = "") -> Callable[..., Any]:
    def refuse(*_arguments: object, **_named: object) -> Any:
        raise inexpressible(name, reason)

    refuse.__name__ = name
    return refuse


_ONNX = "; give the ONNX model the standard operator {}, which is native here"
#: Functions of the DSL that move elements or are whole libraries: refused by name.
REFUSED: dict[str, Callable[..., Any]] = {
    name: _refused(name, "it has no expression here" + _ONNX.format(standard))
    for name, standard in {
        "split": "Split", "slice": "Slice",
        "gather": "Gather", "gather_nd": "GatherND", "scatter": "ScatterElements", "scatter_nd": "ScatterND",
        "sort": "TopK", "topk": "TopK", "transdata": "Transpose", "inplace_add": "ScatterND",
        "inplace_sub": "ScatterND", "inplace_update": "ScatterND", "unsorted_segment_sum": "ScatterElements",
        "pooling2d": "MaxPool", "pooling3d": "MaxPool", "reduce_window": "MaxPool",
        "dilation": "ConvTranspose", "split_compute_com": "Split",
    }.items()
} | {
    name: _refused(name, "it isn't an expression over elements" + _ONNX.format(standard))
    for name, standard in {
        "gemm": "Gemm", "batch_matmul": "MatMul", "conv": "Conv", "conv2d": "Conv",
        "conv3d": "Conv", "depthwise_conv2d": "Conv", "conv2d_backprop_input": "ConvTranspose",
        "conv2d_backprop_filter": "Conv", "depthwise_conv2d_compute": "Conv", "vgcd": "Mod",
    }.items()
}  # fmt: skip
