"""The files of a built operator, and what is there before them.

<folder>/<name>.json is the definition, the only file with a top-level "op"; <name>.so the library; beside
them kernel_meta/ has <name>.o, <name>.json (the kernel), <name>_proof.json, <name>_search.log, and the C that
was proven for each element type, <name>_<type>.c. Installed operators have the same files in
$ASCEND_CUSTOM_OPS. All are written or none, the definition last.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ascend_ep.cann.soc import Soc
from ascend_ep.codegen.c_source import Source
from ascend_ep.codegen.compiled_library import CompiledLibrary
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.carried import SECTION, carrying
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.definition_json import definition_map
from ascend_ep.opdef.installed import META
from ascend_ep.opdef.library import is_undescribed
from ascend_ep.opdef.loader import load_definitions, parse_definitions
from ascend_ep.opdef.places import FolderPlace, schema_root
from ascend_ep.opdef.proof_report import Report

from .install import exclusively, put_in_place, tried_in
from .taken import support_info, taken


@dataclass(frozen=True)
class Code:
    """An operator's library and object as they are written: they carry its definition (carried.py)."""

    library: bytes
    object: bytes
    isa: str

    @classmethod
    def of(cls, opdef: OpDef, library: CompiledLibrary, compiled: Path) -> Code:
        return cls(
            carrying(library.path.read_bytes(), opdef), carrying(compiled.read_bytes(), opdef), library.isa
        )

    @property
    def sha256(self) -> str:
        """Of the library."""
        return hashlib.sha256(self.library).hexdigest()


@dataclass(frozen=True)
class Files:
    """Where the files of an operator are. installed: its definition in $ASCEND_CUSTOM_OPS, if it was set."""

    definition: Path
    library: Path
    installed: Path | None = None


def check_writable(folder: Path, place: str = "--output") -> None:
    """Raises E43104 unless the folder can be made, if need be, and files in it. Leaves nothing behind: what
    is built may fail its proof, or be interrupted."""
    wanted = Path(os.path.abspath(folder))
    there = next(path for path in (wanted, *wanted.parents) if os.path.lexists(path))
    try:
        with tried_in(there) as trial:
            (trial / wanted.relative_to(there)).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fix = f"Choose another folder with {place}, or make it writable."
        raise AscendError("E43104", folder, error.strerror or error, where=place, fix=fix) from None


def check_replaces(folder: Path, name: str, opdef: OpDef, force: bool, installed: bool) -> None:
    """Raises E43101 when a definition there means something else by this operator, or its file is not its.

    installed: whether all definitions of the folder are in force. With `force`, those that can be replaced
    are not minded.
    """
    present = _present(folder, name, installed)
    for other, path in present:
        same_op = (other.op, other.domain, other.since_version) == (
            opdef.op,
            opdef.domain,
            opdef.since_version,
        )
        if path != folder / f"{name}.json" and not same_op:
            continue
        if _same(other, opdef):
            continue
        if not force:
            raise AscendError(
                "E43101", opdef.op, f"{other.op} in {other.origin}", details=_difference(other, opdef)
            )
        if path == folder / f"{name}.json":
            continue
        if sum(p == path for _, p in present) > 1:
            fix = "Remove it from that file by hand."
            raise AscendError("E43101", opdef.op, f"{path} holds it among others", fix=fix)
        if is_undescribed(other):
            raise AscendError("E43101", opdef.op, f"{path}", fix="Remove the library by hand.")


def _present(folder: Path, name: str, installed: bool) -> list[tuple[OpDef, Path]]:
    """The definitions in the file of this name, or in a folder of installed ones, each with its file."""
    found = []
    own = folder / f"{name}.json"
    if own.exists():
        try:
            found += [(d, own) for d in load_definitions(own)]
        except AscendError as error:
            raise AscendError(
                "E43101", name, f"{own} is there and is no definition", details=[error.text]
            ) from None
    if installed and folder.exists():
        for opdef in FolderPlace("installed", folder).all():
            path = opdef.file
            if path != own:
                found.append((opdef, path))
    return found


def _same(a: OpDef, b: OpDef) -> bool:
    """Whether two definitions mean the same; what they say about themselves aside."""
    return replace(_written(a), doc="") == replace(_written(b), doc="")


def _written(opdef: OpDef) -> OpDef:
    """As it is read back from a file."""
    try:
        return parse_definitions(json.dumps(definition_map(opdef)))[0]
    except ValueError:
        return opdef


def _difference(other: OpDef, ours: OpDef) -> list[str]:
    """What is there, and what would be, each with as much as tells them apart."""
    if (brief := _brief(other)) == _brief(ours):
        return [f"{what} {_types(opdef)}"[:300] for what, opdef in (("there:", other), ("new:  ", ours))]
    return [f"there: {brief}"[:300], f"new:   {_brief(ours)}"[:300]]


def _brief(opdef: OpDef) -> str:
    parameters = [t.name + "?" * (t.occurrence == "optional") for t in opdef.inputs]
    parameters += [f"{a.name}={'required' if a.required else a.default}" for a in opdef.attributes]
    text = str(getattr(opdef.semantics, "text", None) or opdef.semantics or "only declared")
    return f"{opdef.op}({', '.join(parameters)}): {text}"


def _types(opdef: OpDef) -> str:
    specs = [
        f"{t.name}: {'/'.join(map(dtypes.name, t.types)) or 'any'}" for t in (*opdef.inputs, *opdef.outputs)
    ]
    return f"{opdef.full_name} version {opdef.since_version or 'any'}, {', '.join(specs)}"


def shadows_builtin(op: str) -> bool:
    """Whether a built-in definition has this operator type: its file has its name."""
    return any(True for _ in schema_root().rglob(f"{op}.json"))


# ---- writing -------------------------------------------------------------------------------------


def write_files(
    output: Path,
    installed: Path | None,
    name: str,
    opdef: OpDef,
    variants: Sequence[tuple[Subject, Source]],
    code: Code,
    report: Report,
    log: list[str],
    soc: Soc,
    force: bool,
) -> Files:
    """Writes an operator's files to `output`, and to `installed` as well: to both or neither. `variants`:
    what was proven for each combination of element types; the subject's own first.

    Raises E43104, and E43101 when another definition has arrived since check_replaces was asked.
    """
    contents = {
        f"{name}.so": code.library,
        f"{META}/{name}.o": code.object,
        f"{META}/{name}.json": _json(_kernel_map(name, variants, code, soc)),
        f"{META}/{name}_proof.json": _json(report.to_json()),
        f"{META}/{name}_search.log": ("\n".join(log) + "\n").encode(),
        **{f"{META}/{source_name(name, v.label)}": s.text.encode() for v, s in variants},
        f"{name}.json": _json(definition_map(opdef)),
    }
    folders = list(dict.fromkeys(f.resolve() for f in (output, installed) if f is not None))
    with exclusively(folders):
        for folder in folders:
            in_force = installed is not None and folder == installed.resolve()
            check_replaces(folder, name, opdef, force, in_force)
        put_in_place(folders, contents, [] if installed is None else _others(installed, name, opdef))
    definition = (installed / f"{name}.json") if installed else None
    return Files(output / f"{name}.json", output / f"{name}.so", definition)


def source_name(name: str, label: str) -> str:
    """The file of the C that was proven for element types (Subject.label)."""
    return f"{name}_{label}.c"


def _others(folder: Path, name: str, opdef: OpDef) -> list[Path]:
    """The files of other definitions of the same operator, which --force replaces."""
    present = [(d, path) for d, path in _present(folder, name, True) if path != folder / f"{name}.json"]
    replaced = [p for d, p in present if (d.op, d.domain) == (opdef.op, opdef.domain) and not _same(d, opdef)]
    found = [path for other in replaced for path in (other, *(_built_beside(other) * (other.stem != name)))]
    return list(dict.fromkeys(found))


def _built_beside(path: Path) -> list[Path]:
    """What `build` wrote with the definition of this file, which carries it too."""
    stem, meta = path.stem, path.parent / META
    names = (f"{stem}.o", f"{stem}.json", f"{stem}_proof.json", f"{stem}_search.log")
    kinds = re.compile(rf"{re.escape(stem)}_({'|'.join(dtypes.NAMES.values())}|-)+\.c")
    sources = [p.name for p in meta.iterdir() if kinds.fullmatch(p.name)] if meta.is_dir() else []
    code = [path.with_suffix(suffix) for suffix in (".so", ".o")]
    carriers = [p for p in code if p != path and p.is_file() and SECTION.encode() in p.read_bytes()]
    return [*carriers, *(meta / name for name in (*names, *sources) if (meta / name).is_file())]


def _kernel_map(
    name: str, variants: Sequence[tuple[Subject, Source]], code: Code, soc: Soc
) -> dict[str, Any]:
    """The kernel's description, in the words of the files that the real toolchain writes beside a .o."""
    subject, source = variants[0]
    binaries = [
        {"supportInfo": support_info(v), "source": source_name(name, v.label), "source_sha256": s.hash}
        for v, s in variants
    ]
    return {
        "binFileName": name,
        "binFileSuffix": ".o",
        "kernelName": source.symbol,
        "sha256": hashlib.sha256(code.object).hexdigest(),
        "blockDim": soc.vector_cores or soc.ai_cores,
        "soc_version": soc.name,
        "target": f"{platform.machine()} {code.isa}",
        "opType": source.op_type,
        "supportInfo": binaries[0]["supportInfo"],
        "takes": taken(variants),
        "inputs": [
            {"name": n, "dtype": dtypes.name(t.dtype), "shape": list(t.dims)}
            for n, t in subject.given.items()
        ],
        "schedule": str(subject.schedule),
        "source": binaries[0]["source"],
        "source_sha256": source.hash,
        "binList": binaries,
        "library": f"{name}.so",
        "library_sha256": code.sha256,
    }


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
