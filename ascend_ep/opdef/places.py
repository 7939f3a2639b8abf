"""Where definitions live: given ones, an installed folder, and the built-in op_schemas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Protocol

from ascend_ep.errors import AscendError
from ascend_ep.opdef.declarations import complete
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.installed import Installed, Unused, read_installed
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.standard import with_onnx_interface


class Place(Protocol):
    """One step of the resolution order."""

    name: str

    def find(self, domain: str, op_type: str, version: int) -> OpDef | None: ...

    def all(self) -> list[OpDef]: ...

    def describe(self, domain: str, op_type: str, version: int) -> str: ...


class GivenPlace:
    """Definitions handed over. The same one twice is one; different ones for the same nodes are E41008."""

    def __init__(self, name: str, definitions: Iterable[OpDef]) -> None:
        self.name = name
        self._definitions = unique(definitions)

    def find(self, domain: str, op_type: str, version: int) -> OpDef | None:
        return best(self._definitions, domain, op_type, version)

    def all(self) -> list[OpDef]:
        return list(self._definitions)

    def describe(self, domain: str, op_type: str, version: int) -> str:
        if not self._definitions:
            return "not given"
        return describe(self._definitions, domain, op_type, version)


class FolderPlace:
    """What is installed in a folder (installed.py), read when first asked."""

    def __init__(self, name: str, folder: Path | None) -> None:
        self.name = name
        self.folder = folder

    @cached_property
    def _installed(self) -> Installed:
        return Installed() if self.folder is None else read_installed(self.folder, self.name)

    @cached_property
    def _definitions(self) -> list[OpDef]:
        return unique(self._installed.definitions)

    def unused(self) -> list[Unused]:
        """The files there that no operator is taken from."""
        return self._installed.unused

    def find(self, domain: str, op_type: str, version: int) -> OpDef | None:
        return best(self._definitions, domain, op_type, version)

    def all(self) -> list[OpDef]:
        return list(self._definitions)

    def describe(self, domain: str, op_type: str, version: int) -> str:
        if self.folder is None:
            return "not set, so no operators are installed"
        return f"{self.folder}: {describe(self._definitions, domain, op_type, version)}"


class BuiltinPlace:
    """op_schemas of this package: <group>/<Op>.json, read when the operator is asked for."""

    def __init__(self, name: str, enabled: bool = True) -> None:
        self.name = name
        self.enabled = enabled

    def _named(self, op_type: str) -> list[OpDef]:
        return _builtin(schema_root(), op_type) if self.enabled else []

    def find(self, domain: str, op_type: str, version: int) -> OpDef | None:
        return best(self._named(op_type), domain, op_type, version)

    def all(self) -> list[OpDef]:
        names = sorted(_builtin_paths(schema_root())) if self.enabled else []
        return [d for op_type in names for d in self._named(op_type)]

    def describe(self, domain: str, op_type: str, version: int) -> str:
        return describe(self._named(op_type), domain, op_type, version) if self.enabled else "switched off"


@cache
def _builtin_paths(root: Path) -> dict[str, list[Path]]:
    paths: dict[str, list[Path]] = {}
    for path in sorted(root.rglob("*.json")):
        paths.setdefault(path.stem, []).append(path)
    return paths


@cache
def _builtin(root: Path, op_type: str) -> list[OpDef]:
    """The definitions of that name; read once in the life of the process, as the package itself is."""
    found = [d for path in _builtin_paths(root).get(op_type, []) for d in load_definitions(path)]
    return unique(replace(d, origin=d.file.relative_to(root).as_posix()) for d in found)


@cache
def schema_root() -> Path:
    """The folder of the built-in definitions: the repository's in a source tree, else the package's."""
    package = Path(__file__).resolve().parents[1]
    source = package.parent / "op_schemas"
    return (
        source
        if (package.parent / "pyproject.toml").is_file() and source.is_dir()
        else package / "op_schemas"
    )


def unique(definitions: Iterable[OpDef]) -> list[OpDef]:
    """The definitions without repetitions. Two different ones for the same nodes raise E41008; a declaration
    without semantics is none of them."""
    found: dict[tuple[str | None, str, int | None, bool], OpDef] = {}
    for opdef in definitions:
        key = (opdef.domain, opdef.op, opdef.since_version, opdef.semantics is None)
        other = found.setdefault(key, opdef)
        if other != opdef:
            raise AscendError("E41008", opdef.full_name, details=[f"in {other.origin}", f"in {opdef.origin}"])
    return list(found.values())


def best(definitions: Iterable[OpDef], domain: str, op_type: str, version: int) -> OpDef | None:
    """The definition that matches most closely: one naming the domain first, then the newest version.

    Of a standard operator, with the interface that ONNX gives it at this version. A declaration is completed
    by the best of those that have semantics.
    """
    matching = [d for d in definitions if d.matches(domain, op_type, version)]
    declared: OpDef | None = None
    for opdef in sorted(matching, key=lambda d: (d.domain is None, -(d.since_version or 0))):
        found = with_onnx_interface(opdef, version) if opdef.standard else opdef
        if found is not None and found.semantics is not None:
            return found if declared is None else complete(declared, found)
        declared = declared or found
    return declared


def describe(definitions: list[OpDef], domain: str, op_type: str, version: int) -> str:
    """What these definitions have for a node, in words."""
    found = best(definitions, domain, op_type, version)
    if found is not None:
        return f"{found.full_name} in {found.origin}" + ("" if found.semantics else ", without semantics")
    same = [d for d in definitions if d.op == op_type]
    if same:
        others = ", ".join(f"{d.full_name} since version {d.since_version or 1}" for d in same)
        return f"only {others}"
    return f"no {op_type}"
