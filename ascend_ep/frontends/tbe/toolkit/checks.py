"""para_check and topi.cce.util: checks of an operator's parameters, and decorators that say what they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ascend_ep.frontends.tbe.toolkit.failure import DTYPE, RANK, DslError
from ascend_ep.frontends.tbe.toolkit.tensors import MAX_RANK

_KINDS = ("INT", "FLOAT", "STR", "BOOL", "TYPE", "LIST_INT", "LIST_FLOAT", "LIST_BOOL", "LIST_LIST_INT")
KERNEL_NAME = "kernel_name"
#: The words that check_op_params takes, each its own name.
ROLES = (
    *(f"{need}_{what}" for need in ("REQUIRED", "OPTION") for what in ("INPUT", "OUTPUT")),
    "DYNAMIC_INPUT", "DYNAMIC_OUTPUT",
    *(f"{need}_ATTR_{kind}" for need in ("REQUIRED", "OPTION") for kind in _KINDS),
)  # fmt: skip
_NAMED_KINDS = {int: "INT", float: "FLOAT", str: "STR", bool: "BOOL", list: "LIST_INT", tuple: "LIST_INT"}


def check_op_params(*roles: Any, **_named: object) -> Callable[[Any], Any]:
    """The decorator that says what each parameter is: words of ROLES, or types as check_input_type takes."""
    if any(isinstance(r, type) for r in roles):
        return check_input_type(*roles)

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            return function(*arguments, **named)

        called.__tbe_roles__ = roles  # type: ignore[attr-defined]
        return called

    return decorate


def check_input_type(*types: Any, **_named: object) -> Callable[[Any], Any]:
    """The older decorator: dict for tensors, str, float, int, bool for the rest."""
    roles: list[str] = []
    for kind in types:
        listed = kind if isinstance(kind, tuple | list) else (kind,)
        first = next((k for k in listed if k is not type(None)), str)
        if not roles and first in (list, tuple):  # the first parameter is no attribute
            roles.append("DYNAMIC_INPUT")
            continue
        roles.append("TENSOR" if first is dict else f"OPTION_ATTR_{_NAMED_KINDS.get(first, 'STR')}")
    if roles and roles[-1] == "OPTION_ATTR_STR":
        roles[-1] = KERNEL_NAME
    return check_op_params(*roles)


def check_dtype(dtype: Any, check_list: Sequence[str] = (), param_name: str = "", **_named: object) -> None:
    """Raises E80008 for an element type that isn't in the list."""
    name = str(dtype).lower()
    check_list = [check_list] if isinstance(check_list, str) else check_list
    if check_list and name not in [str(c).lower() for c in check_list]:
        what = f" of {param_name}" if param_name else ""
        raise DslError(
            DTYPE, f"the type{what} is {name}, which isn't among {', '.join(map(str, check_list))}"
        )


def check_dtype_rule(dtype: Any, check_list: Sequence[str], param_name: str = "") -> None:
    """The older name."""
    check_dtype(dtype, check_list, param_name)


def check_shape(
    shape: Any,
    min_dim: int = 0,
    max_dim: int = 2**31 - 1,
    min_rank: int = 0,
    max_rank: int = MAX_RANK,
    min_size: int = 1,
    max_size: int = 2**31 - 1,
    param_name: str = "",
    **_named: object,
) -> None:
    """Raises E80012 for a shape with too few or too many dimensions, or elements."""
    if not isinstance(shape, list | tuple):
        raise DslError(RANK, f"the shape{_of(param_name)} is a {type(shape).__name__}, not a list")
    if not min_rank <= len(shape) <= max_rank:
        raise DslError(
            RANK, f"the shape{_of(param_name)} has {len(shape)} dimensions, not {min_rank} to {max_rank}"
        )
    total = 1
    for d in shape:
        if not isinstance(d, int) or not min_dim <= int(d) <= max_dim:
            raise DslError(RANK, f"the shape{_of(param_name)} has the size {str(d)[:40]}")
        total *= int(d)
    if not min_size <= total <= max_size:
        raise DslError(RANK, f"the shape{_of(param_name)} has {total} elements, not {min_size} to {max_size}")


def check_shape_rule(
    shape: Any, min_dim: int | None = None, max_dim: int | None = None, max_shape_num: Any = None
) -> None:
    """The older check: the number of dimensions, and the largest size."""
    check_shape(
        shape, min_rank=min_dim or 0, max_rank=max_dim or MAX_RANK, max_dim=max_shape_num or 2**31 - 1
    )


def check_shape_size(shape: Any, limit: Any = 2**31 - 1) -> int:
    """The number of elements, at most a limit. Raises E80012."""
    total = 1
    for d in shape:
        total *= int(d)
    if total > limit:
        raise DslError(RANK, f"the shape {[int(d) for d in shape]} has {total} elements, more than {limit}")
    return total


def check_kernel_name(kernel_name: Any) -> None:
    """Raises E80012 for what is no C name."""
    text = str(kernel_name)
    if not text.isidentifier() or not text.isascii() or len(text) > 200:
        raise DslError("E80014", f"the kernel name {text[:80]!r} isn't letters, digits and _")


def check_format(
    data_format: Any, check_list: Sequence[str] = (), param_name: str = "", **_named: object
) -> None:
    """Raises E80015 for a layout that isn't in the list."""
    check_list = [check_list] if isinstance(check_list, str) else check_list
    if check_list and str(data_format).upper() not in check_list:
        raise DslError(
            "E80015", f"the format{_of(param_name)} is {data_format}, not among {', '.join(check_list)}"
        )


def check_elewise_shape_range(inputs: Any, support_broadcast: bool = False) -> None:
    """Of run-time shapes; these are known."""


def check_reduce_shape_rule(shape: Any) -> None:
    """The older check of a reduction's shape."""
    check_shape(shape, min_rank=1)


def check_reduce_need_refine(shape: Any, axis: Any, keepdims: Any) -> bool:
    """Whether dimensions of 1 had to be merged; never, here."""
    return False


def is_scalar(shape: Any) -> bool:
    """Whether a shape is one of a single number: no dimension, or one of size 1."""
    return len(shape) == 0 or (len(shape) == 1 and int(shape[0]) == 1)


def _of(name: str) -> str:
    return f" of {name}" if name else ""


NAMES: dict[str, Any] = {
    **{role: role for role in ROLES},
    "KERNEL_NAME": KERNEL_NAME,
    **{f"OP_ERROR_CODE_{n:03d}": f"E80{n:03d}" for n in range(28)},
    "SHAPE_SIZE_LIMIT": 2**31 - 1,
    "RANK_LIMIT": MAX_RANK,
    "DIM_LIMIT": 2**31 - 1,
    "RANK_ZERO": 0,
    "ZERO_DIM": 0,
    "DEFAULT_MIN_SHAPE_DIM": 1,
    "DEFAULT_MAX_SHAPE_DIM": 8,
    "check_op_params": check_op_params,
    "check_input_type": check_input_type,
    "check_dtype": check_dtype,
    "check_dtype_rule": check_dtype_rule,
    "check_shape": check_shape,
    "check_shape_rule": check_shape_rule,
    "check_shape_size": check_shape_size,
    "check_tensor_shape_size": check_shape_size,
    "check_kernel_name": check_kernel_name,
    "check_format": check_format,
    "check_format_rule": check_format,
    "check_elewise_shape_range": check_elewise_shape_range,
    "check_reduce_shape_rule": check_reduce_shape_rule,
    "is_shape_need_refine": check_reduce_need_refine,
    "check_tensor_list_dtype": lambda *_arguments, **_named: None,
    "is_scalar": is_scalar,
    "NONE_TYPE": type(None),
    "PARAM_NAME": "param_name",
    "OP_NAME": "op_name",
    "check_and_init_5hdc_reduce_support": lambda *_arguments, **_named: False,
}
