"""The stored proof of a built operator, and whether it is still this operator's: its definition and its code
are what was proven."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_ep import regular_file
from ascend_ep.errors import AscendError
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.carried import carried_definitions
from ascend_ep.opdef.definition import Library, OpDef
from ascend_ep.opdef.definition_json import definition_map
from ascend_ep.opdef.elf_file import ElfFile
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.installed import META
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.proof_report import Report
from ascend_ep.opdef.specialize import specialize


def identity(opdef: OpDef, library: bytes, compiled: bytes) -> dict[str, Any]:
    """What a proof says of the definition and the files that it is about: the library and its object."""
    digests = {"library_sha256": _digest(library), "object_sha256": _digest(compiled)}
    return {"definition": _meaning(opdef)} | digests


def proof_path(definition: Path) -> Path:
    """Where the proof of a definition's file is: with what was built, or beside it where that was copied."""
    name = f"{definition.stem}_proof.json"
    beside = definition.parent / name
    return beside if beside.is_file() else definition.parent / META / name


def read_proof(definition: Path) -> Report:
    """The stored proof. Raises E43105 when there is none."""
    path = proof_path(definition)
    try:
        return Report.from_json(json.loads(regular_file.read(path)))
    except OSError as error:
        raise AscendError("E43105", definition, error.strerror or error, where=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise AscendError("E43105", definition, error, where=str(path)) from None


def proven_definition(path: Path, about: Mapping[str, Any]) -> OpDef:
    """Of the definitions in a file, or in compiled code, the one that a proof is about; the first where none
    has its operator's type any more. Raises AscendError E43105 when the file has none."""
    if path.suffix == ".json":
        found = load_definitions(path)
    else:
        try:
            found = carried_definitions(ElfFile(path.read_bytes()), str(path))
        except ValueError as error:
            raise AscendError("E43105", path, error) from None
    if not found:
        raise AscendError("E43105", path, "it carries no definition")
    return next((d for d in found if d.op == about.get("operator")), found[0])


def check_proof(opdef: OpDef) -> Report | None:
    """The stored proof of a definition that was read from a file; None where it has none.

    Raises AscendError E43105 for one that can't be read, E43107 for one that isn't of this definition and the
    code beside it, or in which checks failed.
    """
    if not opdef.origin or not proof_path(opdef.file).is_file():
        return None
    report = read_proof(opdef.file)
    if proven_definition(opdef.file, report.about).op != opdef.op:
        return None
    check_belongs(opdef.file, opdef, report.about)
    if not report.passed:
        raise AscendError("E43107", opdef.op, f"{len(report.failures())} checks fail", where=str(opdef.file))
    return report


def check_belongs(path: Path, opdef: OpDef, about: Mapping[str, Any]) -> None:
    """Raises E43107 when the definition or a file beside it isn't the one that was proven."""
    for changed in _changes(path, opdef, about):
        raise AscendError("E43107", opdef.op, f"{changed} was changed after it was proven", where=str(path))


def _changes(path: Path, opdef: OpDef, about: Mapping[str, Any]) -> Iterator[str]:
    proven = about.get("definition")
    if proven != _meaning(opdef) if proven else _formula(opdef, about) != about.get("formula"):
        yield "the definition"
    for folder in (path.parent, path.parent / META):
        for suffix, key in ((".so", "library_sha256"), (".o", "object_sha256")):
            file = folder / f"{path.stem}{suffix}"
            if about.get(key) and file.is_file() and about[key] != _digest(file.read_bytes()):
                yield file.name
    for source, digest in _sources(path, about):
        if digest != _digest(source.read_bytes()):
            yield source.name


def proven_sources(path: Path, about: Mapping[str, Any]) -> list[Path]:
    """The files beside a definition with the C that was proven."""
    return [source for source, _ in _sources(path, about)]


def _sources(path: Path, about: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Each file that is there, and its hash when it was proven."""
    known = about.get("sources")
    for kind, digest in known.items() if isinstance(known, Mapping) else ():
        for folder in (path.parent, path.parent / META):
            file = folder / f"{path.stem}_{Path(kind).name}.c"
            if file.is_file():
                yield file, str(digest)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _meaning(opdef: OpDef) -> dict[str, Any] | None:
    """A definition without what it says about itself, and without the path of its library, whose bytes
    have a digest of their own; None for one by a source, which isn't built."""
    try:
        by_library = isinstance(opdef.semantics, Library)
        found = definition_map(replace(opdef, semantics=None) if by_library else opdef)
    except ValueError:
        return None
    found.pop("doc", None)
    return found


def _formula(opdef: OpDef, about: Mapping[str, Any]) -> str:
    """The definition's formula for what was proven. Raises E43105 for a malformed proof."""
    try:
        bound = bind_attributes(opdef, dict(about["attributes"]))
        return program_text(specialize(formula_program(opdef), bound, set(about["inputs"])))
    except (KeyError, TypeError, ValueError) as error:
        raise AscendError("E43105", opdef.op, f"the stored proof is malformed ({error})") from None
