"""The DSL's comparisons, choices and logic."""

from __future__ import annotations

from typing import Any

from ascend_ep.frontends.tbe.toolkit.casts import cast, tensor_argument
from ascend_ep.frontends.tbe.toolkit.failure import DSL, DTYPE, DslError
from ascend_ep.frontends.tbe.toolkit.nodes import apply
from ascend_ep.frontends.tbe.toolkit.tensors import Tensor, broadcast_dims, elementwise, operand_node
from ascend_ep.frontends.tbe.toolkit.vector import check_shapes, operand, same_dtype

_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_BITS = 8


def vcmp(lhs: Any, rhs: Any, operation: str = "lt", mode: str = "bool") -> Tensor:
    """The truth of a comparison, as bool, or in mode bit as uint8 masks of eight."""
    a, b = operand("vcmp", lhs), operand("vcmp", rhs)
    same_dtype("vcmp", a, b)
    check_shapes("vcmp", a, b)
    if operation not in _COMPARISONS:
        raise DslError(DSL, f"vcmp knows {', '.join(_COMPARISONS)}, not {str(operation)[:40]}")
    truth = elementwise(operation, "bool", a, b)
    if mode == "bool":
        return truth
    if mode != "bit":
        raise DslError(DSL, f"vcmp's mode is bool or bit, not {str(mode)[:40]}")
    if not truth.shape or int(truth.shape[-1]) % _BITS:
        raise DslError(
            DSL, f"vcmp(mode='bit') packs {_BITS} elements: the last dimension must be a multiple of it"
        )
    packed = [*truth.shape[:-1], int(truth.shape[-1]) // _BITS]
    return Tensor(truth.node, packed, "uint8", truth.actual, packed=truth.shape)


def vsel(condition: Any, lhs: Any, rhs: Any) -> Tensor:
    """lhs where the condition holds, else rhs."""
    if not isinstance(condition, Tensor):
        raise DslError(DSL, f"vsel's condition is a tensor, not a {type(condition).__name__}")
    if condition.packed is not None:
        condition = Tensor(condition.node, condition.packed, "bool", condition.actual)
    if condition.dtype not in ("bool", "uint8", "int8"):
        raise DslError(DTYPE, f"vsel's condition is bool or uint8, not {condition.dtype}")
    return _chosen("vsel", condition, operand("vsel", lhs), operand("vsel", rhs))


def vcmpsel(lhs: Any, rhs: Any = None, operation: str = "lt", slhs: Any = None, srhs: Any = None) -> Tensor:
    """slhs where the comparison holds, else srhs. Left out: rhs is 2.0, slhs is lhs; srhs is rhs,
    or 0.0 if that is a number."""
    a = tensor_argument("vcmpsel", lhs)
    b = 2.0 if rhs is None else rhs
    chosen = a if slhs is None else slhs
    other = (b if isinstance(b, Tensor) else 0.0) if srhs is None else srhs
    truth = vcmp(a, b, operation)
    return _chosen("vcmpsel", truth, operand("vcmpsel", chosen), operand("vcmpsel", other), a.dtype)


def _chosen(name: str, condition: Tensor, a: Any, b: Any, dtype: str = "") -> Tensor:
    tensors = [v for v in (a, b) if isinstance(v, Tensor)]
    kind = same_dtype(name, *tensors) if tensors else dtype or _number_dtype(a, b)
    check_shapes(name, condition, *tensors)
    parts = [condition, *tensors]
    node = apply("select", condition.node, operand_node(a), operand_node(b))
    return Tensor(
        node, broadcast_dims(*(p.shape for p in parts)), kind, broadcast_dims(*(p.actual for p in parts))
    )


def _number_dtype(*values: Any) -> str:
    return next((v.dtype for v in values if hasattr(v, "dtype")), "float16")


def vlogic(lhs: Any, rhs: Any = None, operation: str = "logic_and") -> Tensor:
    """and, or and not of truth values."""
    a = tensor_argument("vlogic", lhs)
    if operation == "logic_not":
        return elementwise("not", "bool", cast(a, "bool"))
    if operation not in ("logic_and", "logic_or"):
        raise DslError(DSL, f"vlogic knows logic_and, logic_or and logic_not, not {str(operation)[:40]}")
    b = tensor_argument("vlogic", rhs)
    check_shapes("vlogic", a, b)
    return elementwise(operation.removeprefix("logic_"), "bool", cast(a, "bool"), cast(b, "bool"))
