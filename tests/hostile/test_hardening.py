"""How the built libraries are linked: what makes a defect in them harder to use."""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import ascend_ep
from ascend_ep.opdef.elf_file import ElfFile

PACKAGE = Path(ascend_ep.__file__).parent
LIBRARIES = sorted(p for folder in ("lib", "runtime", "serving") for p in (PACKAGE / folder).glob("*.so"))
LOAD, STACK, RELRO = 1, 0x6474E551, 0x6474E552
EXECUTABLE, WRITABLE = 1, 2
DT_TEXTREL, DT_FLAGS, DT_RPATH, DT_RUNPATH, DF_BIND_NOW = 22, 30, 15, 29, 8
SHADOW_STACK = 2
#: None of it is compiled with other than a copy into a buffer whose size isn't known.
WITHOUT_COPIES = ("libascend_ep.so", "_rt.abi3.so", "_call.abi3.so", "_numbers.abi3.so", "libascend_ge.so")


def segments(data: bytes) -> Iterator[tuple[int, int]]:
    """Type and flags of each program header."""
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        yield struct.unpack_from("<II", data, table + i * size)


def dynamic(file: ElfFile) -> dict[int, int]:
    content = file.find(".dynamic") or b""
    return dict(struct.unpack_from("<QQ", content, at) for at in range(0, len(content), 16))


def test_there_are_libraries() -> None:
    names = {p.name for p in LIBRARIES}
    assert {"libascend_rt.so", "libascend_ep.so", "libascendcl.so", "_rt.abi3.so"} <= names


@pytest.mark.parametrize("path", LIBRARIES, ids=lambda p: p.name)
def test_hardened(path: Path) -> None:
    data = path.read_bytes()
    file = ElfFile(data)
    kinds = dict(segments(data))
    assert RELRO in kinds
    assert not kinds[STACK] & EXECUTABLE
    assert not any(k == LOAD and f & EXECUTABLE and f & WRITABLE for k, f in segments(data))
    entries = dynamic(file)
    assert entries.get(DT_FLAGS, 0) & DF_BIND_NOW
    assert DT_TEXTREL not in entries
    imports = file.imports()
    assert "__stack_chk_fail" in imports
    assert path.name in WITHOUT_COPIES or "__memcpy_chk" in imports
    assert not imports & {
        "gets",
        "strcpy",
        "strcat",
        "sprintf",
        "vsprintf",
        "system",
        "popen",
        "tmpnam",
        "mktemp",
    }


@pytest.mark.skipif(platform.machine() != "x86_64", reason="shadow stacks are x86's")
@pytest.mark.parametrize("path", LIBRARIES, ids=lambda p: p.name)
def test_shadow_stacks(path: Path) -> None:
    note = ElfFile(path.read_bytes()).find(".note.gnu.property") or b""
    at = note.find(struct.pack("<II", 0xC0000002, 4))
    assert at >= 0
    assert struct.unpack_from("<I", note, at + 8)[0] & SHADOW_STACK
