"""Steps that a conversion can do without, and what becomes of one that raises what it shouldn't.

A mistake of ours in one step must not cost the whole model. Such a step is wrapped in `step` (or `optional`),
which turns any exception but an AscendError, which is about the model or its definitions, into a Setback; and
whoever started all of it, with `persevere`, starts again without that step. Steps that decide about nodes are
named by `of_node`: without them the node is the host's, with what was raised as the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import onnx_ir as ir

from ascend_ep.errors import AscendError
from ascend_ep.graph.naming import label

T = TypeVar("T")

#: Steps that are left out one after the other before it is given up.
MOST = 64
#: The code of what is a mistake of ours although it is an AscendError.
OURS = "E19999"

_off: ContextVar[Mapping[str, str] | None] = ContextVar("steps that are left out", default=None)


class Setback(Exception):
    """`steps`: what to leave out, because of what it `raised`."""

    def __init__(self, steps: Sequence[str], raised: Exception) -> None:
        super().__init__(f"{', '.join(steps)}: {in_words(raised)}")
        self.steps = tuple(steps)
        self.raised = raised


def is_ours(error: Exception) -> bool:
    """Whether an exception is a mistake of ours: not about the model, its definitions or the machine."""
    if isinstance(error, AscendError):
        return error.code == OURS
    return not isinstance(error, MemoryError | OSError)


def in_words(error: Exception) -> str:
    """An exception of ours as a reason."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def of_node(node: ir.Node) -> str:
    """The step that makes a node native."""
    return f"native node {label(node)}"


def why_off(name: str) -> str:
    """What a step that is left out raised; "" for others."""
    return (_off.get() or {}).get(name, "")


@contextmanager
def step(*names: str) -> Iterator[None]:
    """Around a step: what it raises is a Setback of these names, unless there is nobody to start again."""
    try:
        yield
    except Setback:
        raise
    except Exception as error:
        if _off.get() is None or not is_ours(error):
            raise
        raise Setback(names, error) from error


def optional(name: str, work: Callable[[], T], otherwise: T) -> T:
    """What `work` gives; `otherwise` where this step is left out."""
    if why_off(name):
        return otherwise
    with step(name):
        return work()


def persevere(work: Callable[[], T]) -> tuple[T, dict[str, str]]:
    """What `work` gives, and the steps that were left out for it with the reason of each.

    Raises what `work` raises when that is no Setback, or leaving out its step doesn't help.
    """
    off: dict[str, str] = {}
    while True:
        token = _off.set(off)
        try:
            return work(), off
        except Setback as setback:
            fresh = [name for name in setback.steps if name not in off]
            if not fresh or len(off) >= MOST:
                raise setback.raised from None
            off = off | dict.fromkeys(fresh, in_words(setback.raised))
        finally:
            _off.reset(token)
