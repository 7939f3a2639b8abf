"""Object files and shared libraries as bytes: the sections of a 64-bit ELF file and the names it exports.

Nothing of a file is run or loaded here; what is cut short or contradicts itself raises ValueError.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_RELOCATABLE, _SHARED = 1, 3
_PROGBITS, _SYMTAB, _NOBITS, _DYNSYM = 1, 2, 8, 11
_ALLOCATED, _EXECUTABLE = 2, 4
_GLOBAL, _WEAK = 1, 2
_VISIBLE = (0, 3)  # default and protected
_MACHINES = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183}
#: Bytes of a name; with it and sections that don't overlap, time to read is bounded by the file's size.
_MOST_NAME = 1 << 12
_HEADER, _SECTION, _SYMBOL = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ"), "<IBBH"


@dataclass(frozen=True)
class Section:
    """One section: its name, header fields and place in the file."""

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int

    @property
    def is_data(self) -> bool:
        """Whether it is loaded, and no code."""
        return self.kind == _PROGBITS and self.flags & (_ALLOCATED | _EXECUTABLE) == _ALLOCATED


class ElfFile:
    """A little-endian 64-bit ELF file: an object (.o) or a shared library (.so)."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("it is no 64-bit object file or library")
        try:
            self._header = _HEADER.unpack_from(data)
            self.sections = list(self._read_sections())
        except (struct.error, IndexError, OverflowError, UnicodeDecodeError):
            raise ValueError("it is cut short, or no object file or library") from None
        if self._header[1] not in (_RELOCATABLE, _SHARED):
            raise ValueError("it is a program, no object file or library")

    @property
    def is_object(self) -> bool:
        """Whether it still has to be linked."""
        return bool(self._header[1] == _RELOCATABLE)

    @property
    def is_for_here(self) -> bool:
        """Whether it is code for this kind of processor."""
        machine: int = self._header[2]
        return _MACHINES.get(platform.machine(), machine) == machine

    def _read_sections(self) -> Iterator[Section]:
        *_, table, _, _, _, _, size, count, names_at = self._header
        if count and size != _SECTION.size:
            raise IndexError
        raw = [_SECTION.unpack_from(self.data, table + i * size) for i in range(count)]
        if sum(length for _, kind, *_, length, _, _, _, _ in raw if kind != _NOBITS) > len(self.data):
            raise IndexError
        names = self._slice(raw[names_at][4], raw[names_at][5]) if count else b""
        for name, kind, flags, _, offset, length, link, *_ in raw:
            if kind != _NOBITS and offset + length > len(self.data):
                raise IndexError
            yield Section(_text(names, name), kind, flags, offset, length, link)

    def _slice(self, offset: int, size: int) -> bytes:
        if offset + size > len(self.data):
            raise IndexError
        return self.data[offset : offset + size]

    def content(self, section: Section) -> bytes:
        """The bytes of a section."""
        return b"" if section.kind == _NOBITS else self.data[section.offset : section.offset + section.size]

    def find(self, name: str) -> bytes | None:
        """The bytes of the first section of this name, or None."""
        return next((self.content(s) for s in self.sections if s.name == name), None)

    def exports(self) -> frozenset[str]:
        """The names that others can use."""
        return frozenset(
            name
            for name, binding, visibility, section in self._symbols()
            if section and binding in (_GLOBAL, _WEAK) and visibility in _VISIBLE
        )

    def imports(self) -> frozenset[str]:
        """The names that must be found elsewhere; weak ones may be missing and aren't counted."""
        return frozenset(
            name for name, binding, _, section in self._symbols() if not section and binding == _GLOBAL
        )

    def _symbols(self) -> list[tuple[str, int, int, int]]:
        """(name, binding, visibility, section) of every symbol that linkers look at, but the empty first."""
        found = []
        kind = _SYMTAB if self.is_object else _DYNSYM
        try:
            for table in (s for s in self.sections if s.kind == kind):
                names = self.content(self.sections[table.link])
                for at in range(table.offset + 24, table.offset + table.size - 23, 24):
                    name, info, other, section = struct.unpack_from(_SYMBOL, self.data, at)
                    found.append((_text(names, name), info >> 4, other & 3, section))
        except (struct.error, IndexError, OverflowError, UnicodeDecodeError):
            raise ValueError("its table of symbols is broken") from None
        return found

    def with_section(self, name: str, content: bytes) -> bytes:
        """The file with one more section, which is never loaded; linkers carry it over to what they make.

        The new names, content and section headers come behind everything that is there, so no offset changes.
        """
        *_, table, _, _, _, _, size, count, names_at = self._header
        if not count:
            raise ValueError("it has no table of sections")
        headers = bytearray(self.data[table : table + count * size])
        names = self.content(self.sections[names_at]) + name.encode() + b"\0"
        made = bytearray(self.data)
        content_at = _append(made, content)
        names_now_at = _append(made, names)
        struct.pack_into("<QQ", headers, names_at * size + 24, names_now_at, len(names))
        label = len(names) - len(name.encode()) - 1
        headers += _SECTION.pack(label, _PROGBITS, 0, 0, content_at, len(content), 0, 0, 1, 0)
        table_at = _append(made, bytes(headers))
        struct.pack_into("<Q", made, 40, table_at)
        struct.pack_into("<H", made, 60, count + 1)
        return bytes(made)


def _append(made: bytearray, content: bytes) -> int:
    made += bytes(-len(made) % 8)
    at = len(made)
    made += content
    return at


def _text(names: bytes, at: int) -> str:
    end = names.find(b"\0", at, at + _MOST_NAME)
    if at > len(names) or end < 0:
        raise IndexError
    return names[at:end].decode("ascii")
