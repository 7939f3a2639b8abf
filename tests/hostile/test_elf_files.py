"""The one reader of object files and libraries, on files that are cut, changed, or made to be slow to read:
it reads them or raises ValueError, in time that their size bounds."""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.opdef.carried import carried_definitions
from ascend_ep.opdef.elf_file import ElfFile
from ascend_ep.opdef.installed import operators_of

HEADER, SECTION = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ")
STRTAB, SYMTAB, DYNSYM, PROGBITS = 3, 2, 11, 1
RELOCATABLE, SHARED = 1, 3
NUMBERS = (0, 1, 2, 0x7F, 0xFF, 0xFFFF, 2**31 - 1, 2**32 - 1, 2**62, 2**63, 2**64 - 1)
SECONDS = 2.0


def elf(kind: int, sections: list[tuple[int, int, int, int]], body: bytes, names_at: int = 0) -> bytes:
    """A file of these sections, (type, offset in body, size, link) each, without names."""
    start = HEADER.size
    table = start + len(body)
    head = (
        b"\x7fELF\x02\x01\x01" + bytes(9),
        kind,
        62,
        1,
        0,
        0,
        table,
        0,
        64,
        0,
        0,
        64,
        len(sections),
        names_at,
    )
    rows = [SECTION.pack(0, t, 2, 0, start + at, size, link, 0, 1, 0) for t, at, size, link in sections]
    return HEADER.pack(*head) + body + b"".join(rows)


def symbol(name: int, section: int = 1, info: int = 0x12) -> bytes:
    return struct.pack("<IBBHQQ", name, info, 0, section, 0, 0)


def sound() -> list[bytes]:
    """A library that this project ships; an object and a library that give one name and take one."""
    folder = Path(ascend_ep.__file__).parent / "lib"
    names = b"\0given\0taken\0"
    symbols = bytes(24) + symbol(1) + symbol(7, section=0)
    body = names + symbols
    sections = [(0, 0, 0, 0), (STRTAB, 0, len(names), 0)]
    made = [
        elf(kind, [*sections, (table, len(names), len(symbols), 1)], body, 1)
        for kind, table in ((RELOCATABLE, SYMTAB), (SHARED, DYNSYM))
    ]
    return [(folder / "libascend_rt.so").read_bytes(), *made]


def read_all(data: bytes) -> None:
    """Everything that is asked of a file. Raises ValueError and AscendError alone."""
    file = ElfFile(data)
    file.exports()
    file.imports()
    operators_of(file, "rope")
    carried_definitions(file, "x")
    assert file.find(".none") is None
    if file.sections:
        again = ElfFile(file.with_section(".more", b"{}"))
        assert len(again.sections) == len(file.sections) + 1


def changed(data: bytes, random: Random) -> bytes:
    """Cut, or with a few numbers of its header, tables of sections or anywhere changed."""
    if random.random() < 0.25:
        return data[: random.choice((random.randrange(64), random.randrange(len(data) + 1)))]
    table = int.from_bytes(data[40:48], "little")
    made = bytearray(data)
    for _ in range(random.randint(1, 4)):
        width = random.choice((1, 2, 4, 8))
        places = (random.randrange(64), random.randrange(table, len(data)), random.randrange(len(data)))
        at = min(random.choice(places), len(data) - width)
        made[at : at + width] = random.choice(NUMBERS).to_bytes(8, "little")[:width]
    return bytes(made)


def test_what_is_sound_is_read() -> None:
    library, *made = map(ElfFile, sound())
    assert {name for name in library.exports() if name.startswith("asc_")}
    for file in made:
        assert (file.exports(), file.imports()) == ({"given"}, {"taken"})
        again = ElfFile(file.with_section(".more", b"content"))
        assert (again.find(".more"), again.exports()) == (b"content", {"given"})


@pytest.mark.parametrize("seed", range(2))
def test_files_that_are_cut_or_changed(seed: int) -> None:
    random = Random(seed)
    outcomes = set()
    for data in sound():
        for _ in range(30 if len(data) > 4096 else 400):
            try:
                read_all(changed(data, random))
                outcomes.add("read")
            except (ValueError, AscendError):
                outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def bombs() -> Iterator[tuple[str, bytes]]:
    """Small files that say much: many tables over the same bytes, many names over the same text."""
    text = b"a" * (1 << 20) + b"\0"
    symbols = symbol(0) * 20_000
    body = text + symbols
    names = (STRTAB, 0, len(text), 0)
    table = (DYNSYM, len(text), len(symbols), 0)
    yield "names that are one long text", elf(SHARED, [names, table], body)
    yield (
        "many tables of the same symbols",
        elf(SHARED, [names, *[table] * 2000], b"\0" * len(text) + symbols),
    )
    yield "sections whose names are one long text", elf(SHARED, [names] * 20_000, text)
    yield "data that overlaps", elf(SHARED, [(PROGBITS, 0, len(text), 0)] * 20_000, text)


@pytest.mark.parametrize(("name", "data"), list(bombs()), ids=lambda v: v if isinstance(v, str) else "")
def test_time_is_bounded_by_the_size(name: str, data: bytes) -> None:
    start = time.process_time()
    with contextlib.suppress(ValueError, AscendError):
        read_all(data)
    assert time.process_time() - start < SECONDS, name
