"""The headers that units begin with, compiled once for all: reading them is two fifths of what a kernel's unit takes.

A precompiled header is 110 MB and takes longer than a unit, so that the first unit with a beginning only leaves its
name, and the second has it compiled beside itself. g++ takes `<key>.h.gch` for `<key>.h`, and reads the headers
themselves where a macro or a flag differs: the object is the same.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from ascend_ep import atomic_file
from ascend_ep.codegen.cache import is_whole, note_use, only_one
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.errors import AscendError

_INCLUDE = re.compile(r'#include "([^"/][^"]*)"')
#: The header whose reading is worth it.
_LARGE = "kernel_operator.h"


#: Headers that are being compiled by this process, or were.
_STARTED: set[Path] = set()


class Beginning:
    """The first lines of a unit that include our headers, for one compiler and its flags. identity: of compiler and
    headers, empty where they can't be precompiled. cache: the folder. Nothing is gained where a unit is no more."""

    def __init__(
        self, text: str, command: Sequence[str], flags: Sequence[str], identity: bytes, cache: Path
    ) -> None:
        lines = beginning_of(text)
        self.text = "".join(f"{line}\n" for line in lines)
        more = len(text.splitlines()) > len(lines)
        self.is_large = bool(identity) and more and f'#include "{_LARGE}"' in lines
        key = hashlib.sha256("\0".join([self.text, *command, *flags]).encode() + identity)
        self.header = cache / f"{key.hexdigest()}.h"
        self.compiled = self.header.with_name(f"{self.header.name}.gch")

    @cached_property
    def is_compiled(self) -> bool:
        return self.is_large and is_whole(self.compiled)

    def flags(self) -> list[str]:
        """What the compiler takes it by: nothing where it isn't compiled yet."""
        if not self.is_compiled:
            return []
        note_use(self.compiled)
        return ["-include", str(self.header)]

    def is_due(self, left: set[Path]) -> bool:
        """Whether it comes for the second time, on a machine that has a CPU for it. Then says so once. left: headers
        whose names this compilation of several units has left; it is over before one of them is compiled."""
        if not self.is_large or self.is_compiled or len(os.sched_getaffinity(0)) < 2:
            return False
        if not self.header.is_file():
            with suppress(OSError):  # a full disk is for what the unit itself needs to say
                atomic_file.write(self.header, self.text)
            left.add(self.header)
            return False
        if self.header in left or self.header in _STARTED:
            return False
        _STARTED.add(self.header)
        return True

    def compile(self, command: Sequence[str], run: Callable[[Sequence[str], Path], str]) -> None:
        """By `run(command, target)`, unless another process does. Where it fails, units read the headers as before."""
        with suppress(AscendError, OSError), only_one(self.header.with_suffix(".lock")) as alone:
            if alone and not is_whole(self.compiled):
                run([*command, "-x", "c++-header", str(self.header)], self.compiled)


def beginning_of(text: str) -> list[str]:
    """The first lines of a text, those that include our headers."""
    return list(takewhile(_is_ours, text.splitlines()))


def _is_ours(line: str) -> bool:
    match = _INCLUDE.fullmatch(line)
    return match is not None and (HEADERS / "ascendc" / match[1]).is_file()
