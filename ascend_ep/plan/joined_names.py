"""What a call that joins several nodes is called: "up+act", of "ai.onnx::MatMul+ai.onnx::Relu"."""

from __future__ import annotations

from collections.abc import Iterable

#: Characters of a joined name. What is left out of a longer one is shown as REST.
MAX_NAME, REST = 240, "..."
#: Name and operator of a node.
Part = tuple[str, str]


def distinct(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts in order, each node once: several instructions may be of one."""
    found: list[Part] = []
    for part in parts:
        if any(part) and part not in (found if part[0] else found[-1:]):
            found.append(part)
    return tuple(found)


def joined(names: Iterable[str]) -> str:
    """As many of the names, the first ones, as fit."""
    text = ""
    for name in filter(None, names):
        longer = f"{text}+{name}" if text else name
        if text and len(longer) + len(REST) + 1 > MAX_NAME:
            return f"{text}+{REST}"
        text = longer
    return text
