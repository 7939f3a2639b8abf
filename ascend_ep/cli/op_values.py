"""The values of ascend-op build's flags, and errors that point at them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes

if TYPE_CHECKING:
    from ascend_ep.codegen.library_session import TensorSpec

_SIZES = r"(\d{1,12}\s*(?:,\s*\d{1,12}\s*)*)"
_DIMS = re.compile(rf"\s*(?:\[\s*{_SIZES}?\]|{_SIZES})\s*", re.ASCII)


def read_inputs(shapes: str, kinds: Sequence[Sequence[int]]) -> tuple[TensorSpec, ...]:
    """`[4,33];[33]` as inputs of the first of their types (read_types). Raises E43103 with a caret."""
    from ascend_ep.codegen.library_session import TensorSpec

    found = []
    at = 0
    for part in shapes.split(";"):
        match = _DIMS.fullmatch(part)
        if match is None:
            raise _flag(shapes, "input_shape", "a shape is written [4,33], several as [4,33];[33]", at, part)
        dims = tuple(int(d) for d in (match[1] or match[2] or "").split(",") if d.strip())
        if len(dims) > 8 or any(d < 1 for d in dims) or _product(dims) > 1 << 31:
            raise _flag(
                shapes, "input_shape", "a shape has up to 8 sizes of at least 1 and 2^31 elements", at, part
            )
        found.append(dims)
        at += len(part) + 1
    if len(kinds) not in (1, len(found)):
        named = ";".join(",".join(map(dtypes.name, types)) for types in kinds)
        raise AscendError("E43103", named, "dtype", f"{len(kinds)} types for {len(found)} shapes")
    every = list(kinds) * len(found) if len(kinds) == 1 else kinds
    return tuple(TensorSpec(types[0], dims) for types, dims in zip(every, found, strict=True))


def read_types(texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The values of --dtype: per input its element types, `float16,float32;int64`; one text is enough for all
    inputs, several texts are joined. Raises E43103."""
    found: list[list[int]] = []
    for text in texts:
        for i, part in enumerate(text.split(";")):
            found += [[]] if i == len(found) else []
            found[i] += [
                n for n in (_type(name.strip(), text) for name in part.split(",")) if n not in found[i]
            ]
    return tuple(map(tuple, found))


def _type(name: str, text: str) -> int:
    number = dtypes.NUMBERS.get(name)
    if number is None or (number not in dtypes.NUMPY and number != dtypes.BFLOAT16):
        known = ", ".join(dtypes.name(t) for t in (*dtypes.NUMPY, dtypes.BFLOAT16))
        raise AscendError("E43103", text, "dtype", f"there is no type {name}", details=[f"allowed: {known}"])
    return number


def read_attributes(texts: list[str]) -> dict[str, int | float | bool | str | None]:
    """`NAME=VALUE` of every --attr. Raises E43103."""
    found: dict[str, int | float | bool | str | None] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise AscendError("E43103", text, "attr", "write NAME=VALUE")
        found[name.strip()] = _value(value.strip())
    return found


def read_seconds(text: str) -> float:
    """The value of --search. Raises E43103."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise AscendError("E43103", text, "search", "it must be seconds from 0 to 3600")
    return seconds


def _value(text: str) -> int | float | bool | str:
    try:
        value = json.loads(text.lower() if text.lower() in ("true", "false") else text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float | bool | str) else text


def _product(dims: tuple[int, ...]) -> int:
    total = 1
    for d in dims:
        total *= d
    return total


def _flag(text: str, flag: str, reason: str, at: int, part: str) -> AscendError:
    lead = len(part) - len(part.lstrip())
    caret = " " * (at + lead) + "^" * max(1, len(part.strip()))
    return AscendError("E43103", text, flag, reason, details=[text, caret])


def at_flag(error: AscendError, shapes: str, kinds: str) -> AscendError:
    """An error about the inputs, with the flag it comes from, and a caret under the shape that doesn't fit:
    the last one."""
    if error.code not in ("E41011", "E41012"):
        return error
    if any(line.startswith("allowed: ") for line in error.details):
        error.where, error.fix = "--dtype", "Give a type that the operator takes."
        error.details = (*error.details, kinds, "^" * len(kinds))
        return error
    if "attribute" in error.text:
        error.where, error.fix = "--attr", "Give the attribute a value: --attr NAME=VALUE."
        return error
    start = shapes.rfind(";") + 1
    part = shapes[start:]
    caret = " " * (start + len(part) - len(part.lstrip())) + "^" * max(1, len(part.strip()))
    error.where, error.fix = "--input_shape", "Correct the shapes, or the formula."
    error.details = (*error.details, shapes, caret)
    return error
