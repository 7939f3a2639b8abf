"""Tiling data from the command line: a file's bytes, numbers in order, or values of a structure's fields
by name."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_ep import array_file, regular_file
from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opbuild.ascendc.cpp import sources_of
from ascend_ep.opbuild.ascendc.declarations import without_comments

from .signature import KernelFunction

_FORMATS = {
    "uint8_t": "B", "int8_t": "b", "bool": "?", "uint16_t": "H", "int16_t": "h", "uint32_t": "I",
    "int32_t": "i", "int": "i", "unsigned": "I", "unsigned int": "I", "uint64_t": "Q", "int64_t": "q",
    "size_t": "Q", "float": "f", "double": "d", "half": "e", "float32_t": "f",
}  # fmt: skip
_STRUCT = (
    r"\bstruct\s+{name}\s*\{{(?P<body>[^{{}}]*)\}}"
    r"|\btypedef\s+struct\s*\w*\s*\{{(?P<older>[^{{}}]*)\}}\s*{name}\b"
)
_DEFINED = r"BEGIN_TILING_DATA_DEF\s*\(\s*{name}\s*\)(?P<fields>.*?)END_TILING_DATA_DEF"
_FIELD = re.compile(
    r"(?P<type>[A-Za-z_][\w ]*?)\s+(?P<names>\w+(?:\s*\[\s*\d+\s*\])?(?:\s*=[^,;]*)?(?:\s*,\s*\w+)*)\s*;"
)
_MACRO = re.compile(r"TILING_DATA_FIELD_DEF(?P<array>_ARR)?\s*\(([^)]*)\)")
_USED = re.compile(
    r"GET_TILING_DATA_WITH_STRUCT\s*\(\s*([\w:]+)|REGISTER_TILING_DEFAULT\s*\(\s*([\w:]+)|GET_TILING_DATA_MEMBER\s*\(\s*([\w:]+)"
)
_READ = re.compile(r"\bGET_TILING_DATA")
#: Fields that a hint names.
_SHOWN = 6


@dataclass(frozen=True)
class Field:
    """count: elements of an array; 1 otherwise."""

    name: str
    format: str
    count: int = 1


def tiling_bytes(text: str, kernel: KernelFunction, folders: Sequence[Path]) -> bytes:
    """The bytes that --tiling means. Raises AscendError E43103."""
    if not text:
        return b""
    path = Path(text)
    if path.suffix in (".bin", ".npy", ".dat") or path.is_file():
        return _file_bytes(path)
    fields = structure_fields(kernel, folders)
    parts = [p.strip() for p in text.split(",") if p.strip()]
    if any("=" in p for p in parts):
        return _named(text, parts, fields, kernel)
    if fields and len(parts) <= sum(f.count for f in fields):
        formats = [f.format for f in fields for _ in range(f.count)]
        given = [_number(p, f, text) for p, f in zip(parts, formats, strict=False)]
        return struct.pack("@" + "".join(formats), *given, *[0] * (len(formats) - len(given)))
    formats = ["f" if "." in p or p.endswith("f") else "I" for p in parts]
    return struct.pack(
        "@" + "".join(formats), *(_number(p, f, text) for p, f in zip(parts, formats, strict=True))
    )


def tiling_wanted(kernel: KernelFunction, folders: Sequence[Path]) -> str:
    """How to give the tiling data that a kernel reads: a --tiling, "" where it reads none."""
    text = without_comments(kernel.file.read_text(encoding="utf-8", errors="replace"))
    if not _READ.search(text) and not any(p.is_tiling for p in kernel.parameters):
        return ""
    fields = structure_fields(kernel, folders)
    named = [f"{f.name}=..." for f in fields[:_SHOWN]] + ["..."] * (len(fields) > _SHOWN)
    return f'--tiling "{",".join(named)}"' if fields else "--tiling FILE"


def _file_bytes(path: Path) -> bytes:
    try:
        if path.suffix == ".npy":
            return array_file.load_one(path).tobytes()
        return regular_file.read(path)
    except (OSError, ValueError) as error:
        raise AscendError("E41010", path, error) from None


def structure_fields(kernel: KernelFunction, folders: Sequence[Path]) -> list[Field]:
    """The fields of the structure that the kernel takes its tiling data as; none where it isn't found."""
    text = without_comments(kernel.file.read_text(encoding="utf-8", errors="replace"))
    included = [kernel.file, *sources_of(f'#include "{kernel.file}"', folders)]
    whole = "\n".join(
        without_comments(p.read_text(encoding="utf-8", errors="replace")) for p in dict.fromkeys(included)
    )
    names = [
        p.pointee or p.type for p in kernel.parameters if p.is_tiling and (p.pointee or not p.is_pointer)
    ]
    names += [n for match in _USED.findall(text) for n in match if n]
    if not names:
        names = re.findall(r"BEGIN_TILING_DATA_DEF\s*\(\s*(\w+)", whole)
    for name in names:
        if fields := _fields_of(name.rpartition("::")[2], whole):
            return fields
    return []


def _fields_of(name: str, text: str) -> list[Field]:
    defined = re.search(_DEFINED.format(name=name), text, re.DOTALL)
    if defined:
        return [f for m in _MACRO.finditer(defined["fields"]) if (f := _macro_field(m))]
    match = re.search(_STRUCT.format(name=name), text)
    if match is None:
        return []
    fields = []
    for m in _FIELD.finditer(match["body"] or match["older"] or ""):
        kind = _FORMATS.get(m["type"].strip())
        if kind is None:
            return []
        for one in m["names"].split(","):
            array = re.fullmatch(r"\s*(\w+)\s*(?:\[\s*(\d+)\s*\])?.*", one)
            if array:
                fields.append(Field(array[1], kind, int(array[2] or 1)))
    return fields


def _macro_field(match: re.Match[str]) -> Field | None:
    parts = [p.strip() for p in match[2].split(",")]
    kind = _FORMATS.get(parts[0])
    if kind is None or len(parts) < 2:
        return None
    return Field(parts[-1], kind, int(parts[1]) if match["array"] and parts[1].isdecimal() else 1)


def _named(text: str, parts: Sequence[str], fields: Sequence[Field], kernel: KernelFunction) -> bytes:
    if not fields:
        reason = f"no structure of tiling data with plain fields is found for {kernel.name}"
        raise AscendError(
            "E43103", text, "tiling", reason, fix="Give the numbers in order, or a file of bytes."
        )
    values: dict[str, list[str]] = {}
    last = ""
    for part in parts:
        name, equals, value = part.partition("=")
        last = name.strip() if equals else last
        values.setdefault(last, []).append(value.strip() if equals else part)
    known = [f.name for f in fields]
    for name in values:
        if name not in known:
            raise AscendError(
                "E43103", text, "tiling", f"there is no field {name}.{did_you_mean(name, known)}"
            )
    numbers = []
    for f in fields:
        given = [_number(v, f.format, text) for v in values.get(f.name, [])][: f.count]
        numbers += [*given, *[0] * (f.count - len(given))]
    return struct.pack("@" + "".join(f.format * f.count for f in fields), *numbers)


def _number(text: str, kind: str, whole: str) -> int | float:
    plain = text.strip().rstrip("uUlL")
    try:
        if kind in "fde":
            return float(plain.rstrip("fF"))
        return int(plain, 0)
    except ValueError:
        raise AscendError("E43103", whole, "tiling", f"{text} is no number of this field") from None


def value_bytes(text: str, kind: str) -> bytes:
    """An argument's value as the kernel's parameter of this type. Raises AscendError E43103."""
    found = _FORMATS.get(kind.removeprefix("const ").removesuffix("&").strip())
    if found is None:
        found = "f" if "." in text else "q"
    try:
        return struct.pack("@" + found, _number(text, found, text))
    except struct.error as error:
        raise AscendError("E43103", text, "arg", f"{error} ({kind})") from None
