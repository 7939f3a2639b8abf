"""aclrtlaunch_<kernel>(blocks, stream, arguments): what build files make of a kernel for
programs, and its header.

An argument of a structure is a pointer to one, which is copied at the launch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from ascend_ep.opbuild.ascendc.cpp import sources_of
from ascend_ep.opbuild.ascendc.declarations import without_comments

from .project_files import SUFFIXES, files_of, project_of
from .signature import KernelFunction, Parameter, kernels_of

#: What a header with launches of one source begins with, and the macro that programs launch by.
_HEADER = """\
/* {header} - launches {kernel}. Made of its source. */
#ifndef {guard}
#define {guard}

#include "acl/acl_rt.h"

#ifndef ACLRT_LAUNCH_KERNEL
#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel
#endif

extern "C" uint32_t aclrtlaunch_{kernel}({parameters});

#endif
"""
_CALLED = re.compile(r"\b(?:aclrtlaunch_(\w+)|ACLRT_LAUNCH_KERNEL\s*\(\s*(\w+)\s*\))")
_NUMBER = re.compile(
    r"(?:const\s+)?(?:unsigned|signed|char|short|int|long|float|double|half|bfloat16_t|bool|size_t"
    r"|u?int\d+_t)\b.*"
)


def header_name(kernel: str) -> str:
    """The header of a kernel."""
    return f"aclrtlaunch_{kernel}.h"


def launch_header(kernel: KernelFunction) -> str:
    """The text of a kernel's header."""
    return _HEADER.format(
        header=header_name(kernel.name),
        kernel=kernel.name,
        guard=f"ACLRTLAUNCH_{kernel.name.upper()}_H_",
        parameters=_parameters(kernel),
    )


def launch_function(kernel: KernelFunction) -> str:
    """The function, to stand behind the kernel: it runs when what the stream has before it is done."""
    given = ",".join(f"\n        {_given(kernel, p)}" for p in kernel.parameters)
    return f"""
extern "C" uint32_t aclrtlaunch_{kernel.name}({_parameters(kernel)}) {{
    if (aclrtSynchronizeStream(asc_stream) != ACL_SUCCESS) return 1;
    const auto run = [&](auto &&...asc_argument) {{ {kernel.name}(asc_argument...); }};
    ::asc_host::launcher(asc_blocks)(run, "{kernel.name}")({given});
    return 0;
}}"""


def launched(path: Path, folders: Sequence[Path]) -> list[str]:
    """The kernels that a file, or one that it includes, launches by such functions."""
    texts = [path, *sources_of(f'#include "{path}"', folders)]
    found = (_CALLED.findall(without_comments(_text(p))) for p in texts)
    return list(dict.fromkeys(a or b for names in found for a, b in names))


def launch_headers(
    path: Path, folders: Sequence[Path], kernels: Iterable[KernelFunction] = ()
) -> dict[str, str]:
    """The headers of what a file launches, by name: of `kernels`, or of kernels of the file's project."""
    known = {k.name: k for k in kernels}
    found = ((name, known.get(name) or kernel_of_project(path, name)) for name in launched(path, folders))
    return {header_name(name): launch_header(kernel) for name, kernel in found if kernel is not None}


def with_launched(files: Sequence[Path], folders: Sequence[Path]) -> list[Path]:
    """A program's files, and those of its project with kernels that it launches and that none of them has."""
    found = dict.fromkeys(files)
    for path in files:
        known = {name for p in found for name in _kernels_in(p)}
        for name in launched(path, folders):
            if name not in known and (kernel := kernel_of_project(path, name)) is not None:
                found[kernel.file] = None
    return list(found)


def kernel_of_project(path: Path, name: str) -> KernelFunction | None:
    """The kernel of this name in the project that a file lies in; None without one."""
    for other in files_of(project_of(path), SUFFIXES):
        if name in (names := _kernels_in(other)):
            return names[name]
    return None


@cache
def _kernels_in(path: Path) -> dict[str, KernelFunction]:
    return {k.name: k for k in kernels_of(path) if not k.template} if "__global__" in _text(path) else {}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _is_structure(kernel: KernelFunction, p: Parameter) -> bool:
    return not p.is_pointer and not _number(kernel.file, p.type)


@cache
def _number(file: Path, type_: str) -> str:
    """The number type that a type is, or that an alias or enumeration of the kernel's sources stands for; ""
    for others."""
    if _NUMBER.fullmatch(type_):
        return type_
    name = re.escape(type_.removeprefix("const ").removeprefix("enum "))
    defined = re.compile(
        rf"\btypedef\s+([\w\s]+?)\s+{name}\s*;|\busing\s+{name}\s*=\s*([\w\s]+?)\s*;"
        rf"|\benum\s+(?:(?:class|struct)\s+)?{name}\s*(?::\s*([\w\s]+?)\s*)?\{{"
    )
    for path in sources_of(f'#include "{file}"', ()):
        if found := defined.search(without_comments(_text(path))):
            other = next(filter(None, found.groups()), "int")
            return other if _NUMBER.fullmatch(other) else ""
    return ""


def _given(kernel: KernelFunction, p: Parameter) -> str:
    return f"*({p.type} *){p.name}" if _is_structure(kernel, p) else f"({p.type}){p.name}"


def _parameters(kernel: KernelFunction) -> str:
    """Pointers are untyped, and aliases spelled out: programs include the header without Ascend C."""
    given = [
        f"{_number(kernel.file, p.type)} {p.name}"
        if not p.is_pointer and _number(kernel.file, p.type)
        else f"void *{p.name}"
        for p in kernel.parameters
    ]
    return ", ".join(["uint32_t asc_blocks", "aclrtStream asc_stream", *given])
