"""The values of atc's flags that have a grammar of their own: shapes, output nodes, output types."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ascend_ep.errors import AscendError

_NUMBER = re.compile(r"-?\d+\Z")
_RANGE = re.compile(r"(\d+)~(-1|\d+)\Z")
_SAMPLE = '"input_name1:n1,c1,h1,w1"'

#: One dimension asked for: a number, or (lowest, highest) of a free one; highest None is unbounded.
Dimension = int | tuple[int, int | None]


def parse_input_shape(text: str, inputs: Sequence[str]) -> dict[str, tuple[Dimension, ...]]:
    """`name:n,c,h,w;name2:...` or, with -1 or ~ somewhere, `n,c;h,w` in the order of `inputs`.

    The name is everything before the last colon; `name:` is a scalar. A shape may stand in brackets.
    """
    groups = [group for group in text.split(";") if group.strip()]
    if not groups:
        raise AscendError("E10002", text, "No shape is given.", _SAMPLE)
    if not any(":" in group for group in groups):
        return _by_position(text, groups, inputs)
    shapes: dict[str, tuple[Dimension, ...]] = {}
    for group in groups:
        name, colon, dims = group.rpartition(":")
        name = name.strip()
        if not colon or not name:
            raise AscendError("E10002", text, f"[{group}] has no name before a colon.", _SAMPLE)
        if name in shapes:
            raise AscendError("E10002", text, f"Input [{name}] is given twice.", _SAMPLE)
        shapes[name] = _dims(text, dims)
    return shapes


def input_shape_of_range(text: str) -> str:
    """--input_shape_range, `name:[1~10,3];..` or `[..],[..]`, as a text for --input_shape."""
    group = r"(?:[^\[\];]+:)?\s*\[[^\[\]]*\]"
    if not re.fullmatch(rf"\s*{group}(?:\s*[;,]\s*{group})*\s*;?\s*", text):
        reason = 'It must be "name1:[1~10,3];name2:[..]" or "[1~10,3],[..]".'
        raise AscendError("E10001", text, "--input_shape_range", reason)
    groups = re.findall(r"([^\[\];]+:)?\s*\[([^\[\]]*)\]", text)
    return ";".join(f"{name.lstrip(',').strip()}{dims}" for name, dims in groups)


def parse_hint_shapes(text: str) -> dict[int, tuple[int, ...]]:
    """`0:[1,3];1:[..]` of --input_hint_shape -> {0: (1, 3), ...}, by the inputs' positions."""
    found: dict[int, tuple[int, ...]] = {}
    for group in (part.strip() for part in text.split(";") if part.strip()):
        match = re.fullmatch(r"(\d{1,6}):\[\s*((?:\d{1,18}\s*(?:,\s*\d{1,18}\s*)*)?)\]", group, re.ASCII)
        if match is None or int(match[1]) in found:
            reason = f'[{group}] is not of the form "0:[1,3];1:[..]", or its input occurs twice.'
            raise AscendError("E10001", text, "--input_hint_shape", reason)
        found[int(match[1])] = tuple(int(n) for n in match[2].split(",")) if match[2].strip() else ()
    return found


def _by_position(text: str, groups: list[str], inputs: Sequence[str]) -> dict[str, tuple[Dimension, ...]]:
    if "-1" not in text and "~" not in text:
        raise AscendError(
            "E10002", text, "A shape without its input's name must have a free dimension.", _SAMPLE
        )
    if len(groups) != len(inputs):
        reason = f"{len(groups)} shapes are given, the model has {len(inputs)} inputs."
        raise AscendError("E10002", text, reason, _SAMPLE)
    return {name: _dims(text, group) for name, group in zip(inputs, groups, strict=True)}


def _dims(text: str, dims: str) -> tuple[Dimension, ...]:
    dims = dims.strip()
    if dims.startswith("[") and dims.endswith("]"):
        dims = dims[1:-1]
    if not dims.strip():
        return ()
    return tuple(_dim(text, dim.strip()) for dim in dims.split(","))


def _dim(text: str, dim: str) -> Dimension:
    if match := _RANGE.match(dim):
        low, high = int(match[1]), int(match[2])
        if high != -1 and high < low:
            raise AscendError("E10002", text, f"The range [{dim}] is empty.", _SAMPLE)
        return low, None if high == -1 else high
    if not _NUMBER.match(dim):
        raise AscendError("E10002", text, f"[{dim}] is not an integer.", _SAMPLE)
    value = int(dim)
    if value == -1:
        return 1, None
    if value <= 0:
        raise AscendError("E10011", text, dim)
    if value >= 2**63:
        raise AscendError("E10013", dim, "input_shape")
    return value


def parse_out_nodes(text: str) -> list[tuple[str, int | None]]:
    """`node:0;node2:1` -> [(node, 0), ...]; `out1;out2` -> [(out1, None), ...]; never mixed."""
    entries = [entry.strip() for entry in text.split(";") if entry.strip()]
    parsed: list[tuple[str, int | None]] = []
    for entry in entries:
        name, colon, index = entry.rpartition(":")
        parsed.append((name, int(index)) if colon and name and index.isdecimal() else (entry, None))
    kinds = {index is None for _, index in parsed}
    if not parsed or len(kinds) == 2:
        reason = 'Use node names with indices "node:0;node2:1", or output names "out1;out2"; not both.'
        raise AscendError("E10001", text, "--out_nodes", reason)
    return parsed


def parse_custom_ops(text: str) -> dict[str, str]:
    """`Type:./library.so[;domain::Type2:./other.so]` -> {operator: library}."""
    from ascend_ep.opdef.library import parse_custom_op, separate

    return {name: str(path) for name, path in map(parse_custom_op, separate(text))}
