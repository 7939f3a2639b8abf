"""Conversions of the DSL: cast_to and the roundings, which give integers."""

from __future__ import annotations

from typing import Any

from ascend_ep.frontends.tbe.toolkit.elements import DTYPES, FLOATS
from ascend_ep.frontends.tbe.toolkit.failure import DSL, DTYPE, DslError
from ascend_ep.frontends.tbe.toolkit.nodes import Node, apply, constant
from ascend_ep.frontends.tbe.toolkit.tensors import SESSION, Tensor
from ascend_ep.frontends.tbe.toolkit.unknown import Unknown


def cast(tensor: Tensor, dtype: str) -> Tensor:
    """The tensor in another element type. Arithmetic is in float32 whatever holds the values: float32, and
    the type that the inputs have, change nothing; other types round."""
    if dtype not in DTYPES:
        raise DslError(DTYPE, f"cast_to knows no element type {str(dtype)[:40]!r}")
    if dtype == tensor.dtype:
        return tensor
    if dtype == "bool":
        node = apply("ne", tensor.node, constant(0.0))
    elif tensor.dtype == "bool" or dtype == "float32" or dtype == held_type():
        node = Node("number", (tensor.node,)) if tensor.dtype == "bool" else tensor.node
    elif dtype in FLOATS and tensor.dtype not in FLOATS and tensor.dtype in ("int8", "uint8"):
        node = tensor.node  # every 16-bit float holds these
    else:
        node = Node("cast", (tensor.node,), dtype)
    return Tensor(node, tensor.shape, dtype, tensor.actual, name=tensor.name)


def held_type() -> str:
    """The floating-point type of the inputs: what the operator is held in, and generic over."""
    return next((p.dtype for p in SESSION.placeholders if p.dtype in FLOATS), "")


def cast_to(data: Any, dtype: str, f1628IntegerFlag: bool = True) -> Tensor:
    """dsl.cast_to: to an integer cuts towards zero."""
    tensor = tensor_argument("cast_to", data)
    return cast(tensor, str(dtype).lower())


def rounding(name: str, op: str) -> Any:
    """floor, ceil, round, trunc or round_half_up: a function whose result is an integer tensor."""

    def convert(raw_tensor: Any, dtype: str = "int32", dst_dtype: str = "") -> Tensor:
        tensor = tensor_argument(name, raw_tensor)
        if tensor.dtype not in FLOATS:
            raise DslError(DTYPE, f"{name} takes float16 or float32, not {tensor.dtype}")
        if op == "round_half_up":
            node = apply("floor", apply("add", tensor.node, constant(0.5)))
        else:
            node = apply(op, tensor.node)
        return cast(Tensor(node, tensor.shape, tensor.dtype, tensor.actual), dst_dtype or dtype)

    convert.__name__ = name
    return convert


def tensor_argument(function: str, value: Any) -> Tensor:
    """The tensor that a function of the DSL was given. Raises E90001."""
    if isinstance(value, Unknown):
        raise value.refuse()
    if not isinstance(value, Tensor):
        raise DslError(DSL, f"{function} takes a tensor, not a {type(value).__name__}")
    if value.packed is not None:
        raise DslError(DSL, f"{function} can't take the packed bits of vcmp(mode='bit'): use mode='bool'")
    return value
