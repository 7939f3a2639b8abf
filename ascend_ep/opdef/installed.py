"""A folder of installed operators: every file in it gives a definition, belongs to one, or is named with the
reason why it isn't used.

Definitions are *.json files, objects and libraries that carry one (carried.py), and libraries that say by
their name which operator they have: rope.so has `RoPE`. What is in subfolders is never read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.opdef.carried import carried_definitions
from ascend_ep.opdef.definition import Library, OpDef, Source
from ascend_ep.opdef.elf_file import ElfFile
from ascend_ep.opdef.jsontext import Document, read_document
from ascend_ep.opdef.library import library_definition
from ascend_ep.opdef.loader import read_definitions

#: What a library of operators exports (native/include/ascend_rt.h).
ENTRY_POINT = "asc_get_custom_op"
#: Where `ascend-op build` puts what isn't a definition.
META = "kernel_meta"
#: How the C begins that it keeps there.
GENERATED = b"/* Generated from a formula. */"
#: A string of its own in a file's data that can be an operator's type.
_NAMES = re.compile(rb"(?:(?<=\0)|\A)([A-Za-z_][A-Za-z0-9_]{0,127})\0")
_DECORATION = re.compile(r"^lib|(_custom|_op|_kernel)$")
_SOURCES = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hpp"})


@dataclass(frozen=True)
class Unused:
    """A file that no operator is taken from, and why."""

    path: Path
    reason: str

    @property
    def text(self) -> str:
        """In one line."""
        error = AscendError("E41013", self.path, self.reason)
        return error.line


@dataclass
class Installed:
    """What a folder holds."""

    definitions: list[OpDef] = field(default_factory=list)
    unused: list[Unused] = field(default_factory=list)


def read_installed(folder: Path, where: str) -> Installed:
    """Everything in a folder. Raises E41010 where it can't be read, and what is wrong with a definition."""
    try:
        paths = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    except OSError as error:
        raise AscendError("E41010", folder, error.strerror, where=where) from None
    return _Reading(paths).read()


class _Reading:
    """One reading of a folder."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = [p for p in paths if not p.is_dir()]
        self.folders = [p for p in paths if p.is_dir()]
        self.described: dict[str, list[OpDef]] = {}  # the definitions of JSON files, by the file's stem
        self.stems: set[str] = set()  # of the files that definitions come from
        self.named: set[str] = set()  # real paths of the files that definitions name
        self.found = Installed()

    def read(self) -> Installed:
        later = []
        for path in self.paths:
            if path.suffix == ".json":
                document = read_document(path)
                if _of_build(document):
                    later.append(path)
                else:
                    self.described[path.stem] = read_definitions(document, path.parent)
        for stem, opdefs in self.described.items():
            self._add(stem, opdefs)
        for path in self.paths:
            if path.suffix in (".o", ".so"):
                self._code(path)
        for path in self.paths:
            if path in later or path.suffix not in (".json", ".o", ".so"):
                self._beside(path)
        for inner in self.folders:
            self._folder(inner)
        return self.found

    def _code(self, path: Path) -> None:
        """An object or a library: of a definition that names it, or that it is built from, or of its own."""
        if os.path.realpath(path) in self.named:
            return
        beside = self.described.get(path.stem, [])
        try:
            file = ElfFile(path.read_bytes())
            carried = carried_definitions(file, f"{path}")
            exports = file.exports()
        except OSError as error:
            self._unused(path, error.strerror or str(error))
        except (ValueError, AscendError) as error:
            self._unused(path, error.text if isinstance(error, AscendError) else str(error))
        else:
            if carried:
                self._carried(path, carried, beside)
            elif not file.is_for_here:
                self._unused(path, "it carries no definition, and is code for another kind of processor")
            elif ENTRY_POINT not in exports:
                self._unused(path, f"it carries no definition, and doesn't export {ENTRY_POINT}")
            elif not any(d.semantics for d in beside):
                self._library(path, [d.op for d in beside] or operators_of(file, path.stem))

    def _carried(self, path: Path, carried: Sequence[OpDef], beside: Sequence[OpDef]) -> None:
        """The .so that is built beside a definition is that definition's; it may have been changed since."""
        defined = [b for b in beside if b.semantics is not None]
        changed = [d.op for d in carried if any(_same_operator(d, b) and d != b for b in defined)]
        if path.suffix == ".so" and changed:
            reason = f"{path.stem}.json defines {', '.join(changed)} differently from what it was built from"
            self._unused(path, reason)
        else:
            self._add(path.stem, [d for d in carried if d not in beside])

    def _library(self, path: Path, names: Sequence[str]) -> None:
        if names:
            self._add(path.stem, [replace(library_definition(n, path), origin=str(path)) for n in names])
        else:
            reason = f"its name says none of the operators in it; give it with --custom_op=Type:{path.name}"
            self._unused(path, reason)

    def _beside(self, path: Path) -> None:
        """A file that can only belong to something else here."""
        stem = re.sub(r"_(proof|search)$", "", path.stem)
        if path.suffix == ".json" or path.name.endswith("_search.log"):
            if stem not in self.stems:
                self._unused(path, f"it was written beside {stem}.o, which isn't here")
        elif path.suffix in _SOURCES:
            if not self._is_source(path) and not self._is_proven(path):
                fix = "build it with `ascend-op build`, or name it as the `source` of a definition"
                self._unused(path, f"it is only source: {fix}")
        elif path.suffix == ".py":
            self._unused(path, f"it is only source: build it with `ascend-op build {path.name}`")
        else:
            self._unused(path, "it is no definition (.json), object (.o) or library (.so)")

    def _folder(self, folder: Path) -> None:
        if folder.name != META:
            self._unused(folder, "subfolders aren't read; copy what is in it here")
            return
        for path in sorted(folder.iterdir()):
            stem = re.sub(r"_(proof|search)$", "", path.stem)
            if path.suffix == ".o" and stem not in self.stems:
                self._unused(path, "subfolders aren't read; copy it beside this folder")

    def _is_source(self, path: Path) -> bool:
        """Whether a definition names it, or a source here that includes it."""
        if os.path.realpath(path) in self.named:
            return True
        include = re.compile(rf'#\s*include\s*"[^"]*\b{re.escape(path.name)}"'.encode())
        others = [p for p in self.paths if p.suffix in _SOURCES and p != path]
        return bool(self.named) and any(include.search(p.read_bytes()) for p in others)

    def _is_proven(self, path: Path) -> bool:
        """Whether it is the C that `build` proved for one element type, copied with the rest."""
        return path.stem.rpartition("_")[0] in self.stems and path.read_bytes().startswith(GENERATED)

    def _add(self, stem: str, opdefs: Sequence[OpDef]) -> None:
        self.stems.add(stem)
        self.named |= {str(d.semantics.path) for d in opdefs if isinstance(d.semantics, Source | Library)}
        self.found.definitions += opdefs

    def _unused(self, path: Path, reason: str) -> None:
        self.found.unused.append(Unused(path, reason))


def operators_of(file: ElfFile, stem: str) -> list[str]:
    """The operator types that a library says it has, which its own name spells: rope.so, librope_custom.so.

    A library has the names of its operators among its constants, since it is asked for them by name.
    """
    wanted = {_folded(stem), _folded(_DECORATION.sub("", _DECORATION.sub("", stem)))}
    constants = (file.content(section) for section in file.sections if section.is_data)
    names = {name.decode() for text in constants for name in _NAMES.findall(text)}
    return sorted(name for name in names if _folded(name) in wanted)


def _folded(name: str) -> str:
    return name.replace("_", "").casefold()


def _of_build(document: Document) -> bool:
    """Whether it is one of the descriptions that compilers write beside a .o file, or a proof."""
    value = document.value
    return isinstance(value, dict) and ("binFileName" in value or "proof" in value) and "op" not in value


def _same_operator(a: OpDef, b: OpDef) -> bool:
    return (a.op, a.domain, a.since_version) == (b.op, b.domain, b.since_version)
