"""A list that tells whose it is when it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Item = TypeVar("Item")


class Watched(list[Item]):
    """The items; `changed` is called after every change of the list, not of an item."""

    def __init__(self, items: Iterable[Item], changed: Callable[[], None]) -> None:
        super().__init__(items)
        self._changed = changed


def _told(name: str) -> Callable[..., Any]:
    method = getattr(list, name)

    def changing(self: Watched[Any], *args: Any, **named: Any) -> Any:
        result = method(self, *args, **named)
        self._changed()
        return result

    changing.__name__ = name
    return changing


#: Every method of a list that changes it.
CHANGING = (
    *("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"),
    *("__delitem__", "__iadd__", "__imul__", "__setitem__"),
)
for _name in CHANGING:
    setattr(Watched, _name, _told(_name))
