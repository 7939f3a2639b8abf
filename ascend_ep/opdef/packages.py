"""Installed packages of operators (custom_opp_*.run): vendors' folders, as the tool chain finds them.

$ASCEND_CUSTOM_OPP_PATH names vendors' folders, the first before the others; then come those in
$ASCEND_OPP_PATH/vendors, in the order of load_priority in its config.ini. The operators of a package that was
built here lie in a section of its op_api/lib/libcust_opapi.so: each is 16 bytes of magic, the sizes of what
follows, the definition's JSON and the library. Nothing of a package is run by reading it.
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property
from json import loads as read_json
from pathlib import Path

from ascend_ep import regular_file
from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.elf_file import ElfFile
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.places import GivenPlace

SECTION = ".asc_operators"
MAGIC = b"asc_operator\0\0\0\1"
_LIBRARY = Path("op_api", "lib", "libcust_opapi.so")
_DEFINITION = "operator.json"
_LONGEST_NAME = 255  # bytes, of a file
_SIZES = struct.Struct("<QQ")
_ALIGNED = 16


def vendor_folders(environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The folders of installed packages, in the order of their priority."""
    given = [Path(p) for p in environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(":") if p]
    opp = environ.get("ASCEND_OPP_PATH", "")
    vendors = Path(opp) / "vendors"
    there = sorted(p.name for p in vendors.iterdir() if p.is_dir()) if opp and vendors.is_dir() else []
    named = [n for n in _priorities(vendors / "config.ini") if n in there]
    ordered = dict.fromkeys([*named, *there])
    return tuple(dict.fromkeys([*given, *(vendors / n for n in ordered)]))


def _priorities(config: Path) -> list[str]:
    try:
        lines = regular_file.read(config).decode(errors="replace").splitlines()
    except OSError:
        return []
    found = [line.partition("=")[2] for line in lines if line.strip().startswith("load_priority")]
    return [name.strip() for text in found for name in text.split(",") if name.strip()]


class PackagePlace:
    """The operators of installed packages, read when first asked. Of one operator in two packages the first
    is in force."""

    name = "installed packages"

    def __init__(self, folders: Iterable[Path]) -> None:
        self.folders = tuple(folders)

    @cached_property
    def _place(self) -> GivenPlace:
        found: dict[str, OpDef] = {}
        for folder in self.folders:
            for opdef in read_package(folder):
                found.setdefault(opdef.full_name, opdef)
        return GivenPlace(self.name, found.values())

    def find(self, domain: str, op_type: str, version: int) -> OpDef | None:
        return self._place.find(domain, op_type, version) if self.folders else None

    def all(self) -> list[OpDef]:
        return self._place.all() if self.folders else []

    def describe(self, domain: str, op_type: str, version: int) -> str:
        if not self.folders:
            return "none: neither ASCEND_CUSTOM_OPP_PATH nor ASCEND_OPP_PATH names any"
        return self._place.describe(domain, op_type, version)


def read_package(folder: Path) -> list[OpDef]:
    """The definitions of a vendor's folder; none where it has no operators built here. Their libraries are
    files while this process lives. Raises AscendError E41010 for a package that is damaged."""
    library = folder / _LIBRARY
    try:
        content = library.read_bytes()
        section = ElfFile(content).find(SECTION)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise AscendError("E41010", library, error) from None
    if section is None:
        return []
    found = []
    for json, code in _records(section, library):
        file = Path(_unpacked(json, code, _library_of(json, library)).name) / _DEFINITION
        found += [replace(d, origin=str(library)) for d in load_definitions(file)]
    return found


def _library_of(json: bytes, package: Path) -> str:
    """The name of the file that a definition has for its library."""
    try:
        definition = read_json(json)
    except (ValueError, RecursionError):
        raise AscendError("E41010", package, "the definition of an operator in it is no JSON") from None
    given = definition.get("library") if isinstance(definition, dict) else None
    name = Path(given).name if isinstance(given, str) else ""
    is_name = name.isprintable() and name not in ("", ".", "..", _DEFINITION)
    if not is_name or len(name.encode()) > _LONGEST_NAME:
        raise AscendError("E41010", package, "the definition of an operator in it names no library")
    return name


def _records(section: bytes, library: Path) -> Iterator[tuple[bytes, bytes]]:
    """JSON and library of each operator."""
    at = 0
    while (at := section.find(MAGIC, at)) >= 0:
        begin = at + len(MAGIC) + _SIZES.size
        if begin > len(section):
            raise AscendError("E41010", library, f"its section {SECTION} is cut short")
        json_bytes, code_bytes = _SIZES.unpack_from(section, at + len(MAGIC))
        code = -(-(begin + json_bytes) // _ALIGNED) * _ALIGNED
        if code + code_bytes > len(section):
            raise AscendError("E41010", library, f"its section {SECTION} is cut short")
        yield section[begin : begin + json_bytes], section[code : code + code_bytes]
        at = code + code_bytes


@cache
def _unpacked(json: bytes, code: bytes, name: str) -> tempfile.TemporaryDirectory[str]:
    """The definition's file and its library, under the name that it has for it, while this process lives."""
    folder = tempfile.TemporaryDirectory(prefix="ascend_ep-package-")
    (Path(folder.name) / name).write_bytes(code)
    (Path(folder.name) / _DEFINITION).write_bytes(json)
    return folder
