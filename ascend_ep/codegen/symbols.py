"""What generated code may call, read from a library's file before anything loads it: loading runs code, its
constructors."""

from __future__ import annotations

from ascend_ep.errors import AscendError
from ascend_ep.opdef.elf_file import ElfFile
from ascend_ep.opdef.operations import OPERATIONS

from .compiled_library import CompiledLibrary

#: Functions of the C library that a kernel may call: memory and mathematics, nothing that reaches outside.
_MEMORY = "memcpy memset memmove memcmp strcmp strlen malloc free posix_memalign __stack_chk_fail"
_MATHEMATICS = {o.libm for o in OPERATIONS.values() if o.libm} | {
    *(
        "exp2",
        "sincos",
        "erfc",
        "nearbyint",
        "round",
        "roundeven",
        "fmod",
        "fabs",
        "fmin",
        "fmax",
        "ldexp",
        "fma",
    )
}
ALLOWED_IMPORTS = frozenset([*_MEMORY.split(), *_MATHEMATICS, *(f"{name}f" for name in _MATHEMATICS)])


def foreign_calls(file: ElfFile) -> list[str]:
    """The names that a library takes from elsewhere and that no kernel needs."""
    return sorted(file.imports() - ALLOWED_IMPORTS)


def loadable(library: CompiledLibrary) -> CompiledLibrary:
    """The library, which calls nothing foreign. Raises AscendError E43004."""
    try:
        calls = foreign_calls(ElfFile(library.path.read_bytes()))
    except (OSError, ValueError) as error:
        raise AscendError("E43004", library.op_type, error, where=str(library.path)) from None
    if calls:
        raise AscendError("E43004", library.op_type, f"it calls {', '.join(calls)}", where=str(library.path))
    return library
