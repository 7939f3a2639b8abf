"""Errors and warnings of the stand-ins, with the line of the user's file they are about."""

from __future__ import annotations

import sys

#: Codes of the real packages: a DSL call, an element type, the number of dimensions, a broadcast.
DSL, DTYPE, RANK, BROADCAST = "E90001", "E80008", "E80012", "E80013"


class DslError(RuntimeError):
    """What the real packages raise: args[0] is a map with errCode."""

    def __init__(self, code: str, cause: str) -> None:
        super().__init__({"errCode": code, "detailed_cause": cause}, f"{code}: {cause}")
        self.code = code
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.code}: {self.cause}"


class Inexpressible(Exception):
    """A call whose meaning the expression form doesn't have."""


class Warnings:
    """Sentences about calls that the real packages refuse, each once."""

    def __init__(self) -> None:
        self.file = ""
        self.found: dict[str, None] = {}

    def add(self, text: str) -> None:
        """Notes a sentence with the line of the file that called."""
        line = self.line()
        self.found[f"line {line}: {text}" if line else text] = None

    def line(self) -> int:
        """The line of the user's file that is being run, 0 when none is."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.file:
            frame = frame.f_back  # type: ignore[assignment]
        return frame.f_lineno if frame is not None else 0


WARNINGS = Warnings()


def inexpressible(name: str, reason: str = "") -> Inexpressible:
    """For a function that moves elements, or is otherwise outside the expression form."""
    why = reason or "an expression can't move elements to other places"
    return Inexpressible(f"{name}: {why}")
