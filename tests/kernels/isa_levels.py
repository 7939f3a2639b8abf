"""A test of a kernel at every ISA level of this CPU, as one test: six cost more than most kernels take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from other_cpu import levels


def isa_levels() -> list[int]:
    """The ISA levels that are compiled in and that this CPU can run, lowest first."""
    return list(levels())


def isa_name(isa: int) -> str:
    return levels()[isa]


def each_isa(test: Callable[..., None]) -> Callable[..., None]:
    """The test with `isa` being each level in turn. All of them run, and a failure names its level."""
    signature = inspect.signature(test)

    @functools.wraps(test)
    def at_each_level(**arguments: Any) -> None:
        failures: list[Exception] = []
        for isa in isa_levels():
            try:
                test(isa=isa, **arguments)
            except Exception as failure:
                failure.add_note(f"at the ISA level {isa_name(isa)}")
                failures.append(failure)
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise ExceptionGroup(f"at {len(failures)} ISA levels", failures)

    others = [p for name, p in signature.parameters.items() if name != "isa"]
    vars(at_each_level)["__signature__"] = signature.replace(parameters=others)
    return at_each_level
