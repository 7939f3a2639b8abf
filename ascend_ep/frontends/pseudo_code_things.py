"""What an expression of pseudo-code can be, beside a tensor or number: types, shapes, None, functions."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TypeAlias, Union

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.formula_nodes import Value


@dataclass(frozen=True)
class ElementType:
    """A type such as torch.float16; `dtype` None is the type of a tensor of the text."""

    dtype: int | None


@dataclass(frozen=True)
class Dims:
    """x.shape (no axes), or x.shape[-n:], which layer_norm takes."""

    like: Value
    axes: tuple[int, ...]


class Scope(dict[str, "Thing"]):
    """The names of one function."""


@dataclass(frozen=True)
class Helper:
    """Another function of the text, and the names it can see."""

    function: ast.FunctionDef
    scope: Scope


class Nothing:
    """Python's None."""


NOTHING = Nothing()


class Ranked(tuple["Thing", ...]):
    """What topk and max along an axis return: .values and .indices."""


Thing: TypeAlias = Union[Value, ElementType, Dims, Helper, Nothing, tuple["Thing", ...]]  # noqa: UP007

_TYPE_NAMES = {"long": dtypes.INT64, "int": dtypes.INT32, "short": dtypes.INT16, "bool_": dtypes.BOOL}


def dtype_of(name: str) -> int | None:
    """The element type of torch.<name> or np.<name>."""
    number = _TYPE_NAMES.get(name, dtypes.NUMBERS.get(name))
    return number if number in dtypes.FLOATS | dtypes.INTEGERS | {dtypes.BOOL} else None
