"""What a shared object takes from others and gives to them: the dynamic symbols of a 64-bit ELF file."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_DYNSYM = 11
_WEAK = 2


@dataclass(frozen=True)
class Symbols:
    """imports: names that must be found elsewhere (weak ones may be missing and aren't counted)."""

    imports: frozenset[str]
    exports: frozenset[str]


def symbols_of(path: Path) -> Symbols:
    """Reads the table of dynamic symbols. Raises ValueError for a file that isn't little-endian ELF64."""
    raw = path.read_bytes()
    if raw[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path} is no 64-bit shared object")
    try:
        return _read(raw)
    except struct.error:
        raise ValueError(f"{path} is cut short") from None


def _read(raw: bytes) -> Symbols:
    (table,) = struct.unpack_from("<Q", raw, 0x28)
    size, count = struct.unpack_from("<HH", raw, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", raw, table + i * size) for i in range(count)]
    imports: set[str] = set()
    exports: set[str] = set()
    for kind, offset, length, link in ((s[1], s[4], s[5], s[6]) for s in sections):
        if kind != _DYNSYM:
            continue
        names = sections[link][4]
        for at in range(offset + 24, offset + length, 24):
            name, info, _, section = struct.unpack_from("<IBBH", raw, at)
            text = raw[names + name : raw.index(b"\0", names + name)].decode("ascii", "replace")
            if section:
                exports.add(text)
            elif info >> 4 != _WEAK:
                imports.add(text)
    return Symbols(frozenset(imports), frozenset(exports))
