"""What a build compiles, begun in the order it is needed and made by several compilers at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

from ascend_ep.codegen.assembly import Assembly
from ascend_ep.codegen.c_source import Source
from ascend_ep.codegen.compiled_library import CompiledLibrary, compile_assembly, compile_object
from ascend_ep.codegen.compiler_process import CompilerPool
from ascend_ep.codegen.compilers import flags_of
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.proof.harness import Sanitizer, compile_harness
from ascend_ep.opbuild.proof.subject import Generate, Subject, assembly_of, generate
from ascend_ep.runtime.binding import lib, text_of

SANITIZERS: tuple[Sanitizer, ...] = ("address", "thread")
#: Compilers at work; more than the processors only take turns.
MOST_AT_ONCE = 4
#: Seconds between two looks whether something is compiled.
LOOK = 0.005

Made = TypeVar("Made")


def levels() -> list[str]:
    """The ISA levels of this machine that generated code differs on, the one in use first."""
    names = [text_of(lib.asc_isa_name(i)) for i in range(lib.ASC_ISA_COUNT) if lib.asc_isa_supported(i)]
    used = text_of(lib.asc_isa_name(lib.asc_isa_current()))
    different = {flags_of(n): n for n in [*reversed(names), used]}
    return [used, *(n for n in names if n != used and n in different.values())]


def waited(future: Future[Made]) -> Made:
    """The result, once it is there. To wait in Future.result() isn't safe from Ctrl-C, which may leave its
    lock taken, and the thread that brings the result would wait for ever."""
    while not future.done():
        time.sleep(LOOK)
    return future.result()


class Compilations:
    """The libraries of an operator: the one of all element types, and those of ISA levels and sanitizers.

    They are compiled behind whoever uses this, which waits only for what isn't there yet. Left with an
    exception, it ends the compilers, and starts no more of them.
    """

    def __init__(self, subject: Subject, make: Generate = generate, rebuild: str = "") -> None:
        """`rebuild`: what the library names when it refuses a call, see assemble. Raises NotGenerated."""
        self.variants = [(variant, make(variant)) for variant in subject.variants()]
        self.levels = levels()
        self.whole = assembly_of(self.variants, rebuild)
        self._pool = CompilerPool(max(1, min(MOST_AT_ONCE, len(os.sched_getaffinity(0)))))
        self._made: dict[tuple[str, str], Future[CompiledLibrary]] = {}
        used = self.levels[0]
        for part, link in zip(self.whole.parts, self.whole.links, strict=True):
            self.also(compile_object, part, used, link=link)
        self._add(self.whole, used)
        self.also(compile_harness, "")
        own = assembly_of(self.variants[:1], rebuild)
        for level in self.levels[1:]:
            self._add(own, level)
        for sanitizer in SANITIZERS:
            self._add(own, used, sanitizer)
            self.also(compile_harness, sanitizer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.__exit__(kind, error, trace)

    def also(self, make: Callable[..., object], *arguments: Any, **named: Any) -> Future[object]:
        """Something else to compile, after what was asked for before; its errors are told to who waits."""
        return self._pool.submit(make, *arguments, **named)

    @property
    def source(self) -> Source:
        """The C of the subject's own element type."""
        return self.variants[0][1]

    def _add(self, made_of: Assembly, level: str, sanitizer: str = "") -> None:
        self._made[level, sanitizer] = self._pool.submit(compile_assembly, made_of, level, sanitizer)

    def library(self, level: str | None = None, sanitizer: str = "") -> CompiledLibrary:
        """The one of all element types for the level in use; for another or with a sanitizer, that of the
        subject's own. Raises AscendError E43001, E43002 and E40002."""
        return waited(self._made[level or self.levels[0], sanitizer])

    def sanitized(self, sanitizer: str) -> CompiledLibrary | AscendError:
        """The one with a sanitizer, or why the compiler has none."""
        try:
            return self.library(sanitizer=sanitizer)
        except AscendError as error:
            return error
