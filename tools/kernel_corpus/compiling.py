"""A kernel file through the compiler with the flags of `ascend-op build`, and why it fails."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ascend_ep.cann.soc import Soc
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.core_types import core_types, flags_of
from ascend_ep.opbuild.ascendc.cpp import (
    FLAGS,
    Unit,
    find_cpp,
    is_rewritten,
    readable,
    sources_of,
    without_includes,
)
from ascend_ep.opbuild.kernels.assemble import host_assembly
from ascend_ep.opbuild.kernels.signature import KernelFunction
from ascend_ep.opbuild.kernels.sources import Sources, find_sources, read_sources
from ascend_ep.opbuild.kernels.template_keys import template_keys
from ascend_ep.opbuild.kernels.units import (
    CHECKED,
    KernelUnit,
    TypeColumn,
    source_program_units,
)
from ascend_ep.opdef import dtypes

from .found import KernelFile

SECONDS = 600
_TYPE_NAMES = re.compile(r"\b(?:ORIG_)?DTYPE_(\w+)\b")
#: What a compiler says, and the class of reasons that it belongs to.
_REASONS = (
    (re.compile(r"fatal error: (\S+): No such file"), "missing header"),
    (re.compile(r"[‘'](?:\w+::)*(\w+)[’'] (?:was not declared|is not a member)"), "missing name"),
    (re.compile(r"[‘'](?:\w+::)*(\w+)[’'] has not been declared"), "missing name"),
    (re.compile(r"has no member named [‘'](\w+)"), "missing member"),
    (re.compile(r"[‘'](?:\w+::)*(\w+)[’'] does not name a type"), "missing name"),
    (re.compile(r"no matching function for call to [‘'](?:\w+::)*(\w+)"), "no such form"),
    (re.compile(r"(?:static assertion failed|error): (.*)"), "other"),
)  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """What the compiler made of a file. reason: a class, "" where it compiles; detail: the name or text.
    host: whether host code gave its types and tiling structures."""

    file: KernelFile
    reason: str = ""
    detail: str = ""
    place: str = ""
    host: bool = False


class Compiler:
    """The compiler with the header precompiled, in a folder."""

    def __init__(self, soc: Soc, folder: Path) -> None:
        self.soc, self.folder = soc, folder

    @cached_property
    def header(self) -> Path:
        """The precompiled header, which a unit includes before its first line."""
        header = self.folder / "all.h"
        names = ("kernel_operator.h", "host/launch.h", "lib/matmul_intf.h", "cmath")
        header.write_text("".join(f"#include <{n}>\n" for n in names), encoding="utf-8")
        made = header.with_suffix(".h.gch")
        subprocess.run(
            [*self._command(CHECKED), "-x", "c++-header", str(header), "-o", str(made)], check=True
        )
        return header

    def _command(self, flags: Sequence[str]) -> list[str]:
        return [*find_cpp(), *flags, *FLAGS, f"-I{HEADERS / 'ascendc'}", f"-I{HEADERS}"]

    def __call__(self, file: KernelFile) -> Compiled:
        """The file's first kernel, or the whole of a program. Host code in ../op_host is compiled and run
        first, as it says types and tiling structures; where it fails, that is the reason."""
        sources = find_sources([file.path])
        if file.is_program:
            return self._units(
                file, source_program_units([file.path], sources.folders, True, self.soc), False
            )
        try:
            unit = self._unit(file, sources)
        except AscendError as error:
            said = _said(error.text + "\n" + "\n".join(error.details or ()), file.path)
            return Compiled(file, "host code", f"{said[0]}: {said[1]}", said[2], True)
        return self._units(file, [unit], bool(sources.host))

    def _unit(self, file: KernelFile, sources: Sources) -> Unit:
        kernel = file.kernels[0]
        if sources.host:
            named = kernel.name if len(file.kernels) == 1 else ""  # of several the one that the operator has
            kernel, host, operator = read_sources(sources, named, self.soc)
            if host is not None and operator is not None:
                column = TypeColumn(operator.columns[0] if operator.columns else ())
                made = host_assembly(sources, kernel, host, operator, [column]).kernels[0]
                return self._unit_of(made, kernel)
        text = file.path.read_text(encoding="utf-8", errors="replace")
        names = tuple(dict.fromkeys(_TYPE_NAMES.findall(text)))
        column = TypeColumn((dtypes.FLOAT32,) * len(names))
        keys = template_keys(kernel, sources.folders, len(names))
        plain = KernelUnit(file.path, kernel.name, column, names, folders=sources.folders, by_key=keys)
        return self._unit_of(plain, kernel)

    def _unit_of(self, unit: KernelUnit, kernel: KernelFunction) -> Unit:
        return self._bare(unit) if kernel.template and unit.by_key is None else unit.unit(0, True)

    def _bare(self, kernel: KernelUnit) -> Unit:
        """A file whose kernels are templates: as it stands, as no call says the arguments."""
        unit = kernel.unit(0, True)
        plain = kernel.name.partition("<")[0]
        lines = [
            line
            for line in unit.text.splitlines()
            if not line.startswith(("ASC_KERNEL_ROW", f"#define {plain} "))
        ]
        return replace(unit, text="\n".join(lines) + "\n")  # fmt: skip

    def _units(self, file: KernelFile, units: Sequence[Unit], host: bool) -> Compiled:
        for unit in units:
            with tempfile.TemporaryDirectory(dir=self.folder) as work:
                for name, text in (("unit.cpp", unit.text), *unit.files.items()):
                    Path(work, name).write_text(text, encoding="utf-8")
                folders = [f"-I{f}" for f in (work, *unit.folders)]
                more = [f for f in unit.flags if f not in CHECKED]
                command = [*self._command(CHECKED), *more, *folders]
                try:
                    done = self._read(command, unit, f"{work}/unit.cpp")
                except subprocess.TimeoutExpired:
                    return Compiled(file, "time", f"{SECONDS} s", "", host)
            if done.returncode:
                return Compiled(file, *_said(done.stderr, file.path), host)
        return Compiled(file, host=host)

    def _read(self, command: Sequence[str], unit: Unit, written: str) -> subprocess.CompletedProcess[str]:
        """A unit, for each kind of core that it asks for, until one fails."""
        texts = sources_of(unit.text, unit.folders)
        kinds = core_types([unit.text, *(p.read_text(encoding="utf-8", errors="replace") for p in texts)])
        rewritten = is_rewritten(unit.text, texts, find_cpp())
        for more in [flags_of(kind, len(kinds) > 1) for kind in kinds] or [[]]:
            plain = [*command, *more, "-include", str(self.header), "-fsyntax-only", written]
            done = self._without_attributes([*command, *more], written) if rewritten else _run(plain)
            if done.returncode:
                break
        return done

    def _without_attributes(self, command: Sequence[str], file: str) -> subprocess.CompletedProcess[str]:
        """As `ascend-op build` compiles what has attributes in brackets: preprocessed first."""
        made = _run([*command, "-E", file])
        if made.returncode:
            return made
        with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".ii") as written:
            written.write(readable(made.stdout, find_cpp()))
            written.flush()
            return _run([*without_includes(command), "-fconcepts", "-fsyntax-only", written.name])


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False
    )


def _said(text: str, path: Path) -> tuple[str, str, str]:
    """The class of reasons of a compiler's first error, what it is about, and where."""
    lines = [line for line in text.splitlines() if re.search(r"\berror\b", line)] or text.splitlines()[:1]
    for line in lines[:1]:
        for pattern, reason in _REASONS:
            if match := pattern.search(line):
                place = re.match(r"(\S+?:\d+)", line)
                return reason, match[1][:90], place[1] if place else ""
    return "other", lines[0][:90] if lines else "", ""
