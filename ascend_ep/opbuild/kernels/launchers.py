"""Kernels as functions of a program, as ascendc_library of build files has it: aclrtlaunch_<kernel>(blocks,
stream, arguments) and its header, behind which the kernel runs on this CPU. Each kernel is one of a binary,
too, which programs load by aclrtBinaryLoadFromFile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ascend_ep import atomic_file

from .signature import KernelFunction, kernels_of
from .units import included_source

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


def write_launchers(files: Sequence[Path], folder: Path) -> list[Path]:
    """A source for each file, which includes it, and a header for each of its kernels. Returns the sources.

    Raises AscendError E41010.
    """
    atomic_file.make_folder(folder)
    made = []
    for number, path in enumerate(files):
        kernels = [k for k in kernels_of(path) if not k.template]
        for kernel in kernels:
            name = f"aclrtlaunch_{kernel.name}.h"
            text = _HEADER.format(
                header=name,
                kernel=kernel.name,
                guard=f"ACLRTLAUNCH_{kernel.name.upper()}_H_",
                parameters=_parameters(kernel),
            )
            _put(folder / name, text)
        lines = [
            '#include "kernel_operator.h"',
            '#include "host/kernel_binary.h"',
            '#include "acl/acl_rt.h"',
            included_source(path),
            *(_launcher(k) for k in kernels),
            *(f"ASC_KERNEL_BINARY({k.name})" for k in kernels),
        ]
        made.append(_put(folder / f"{path.stem}_{number}.cpp", "\n".join(lines) + "\n"))
    return made


def _launcher(kernel: KernelFunction) -> str:
    """The kernel runs when what the stream has before it is done."""
    given = "".join(
        f"\n        ({p.type}){p.name}," if p.is_pointer else f"\n        {p.name},"
        for p in kernel.parameters
    ).rstrip(",")
    return f"""
extern "C" uint32_t aclrtlaunch_{kernel.name}({_parameters(kernel)}) {{
    if (aclrtSynchronizeStream(asc_stream) != ACL_SUCCESS) return 1;
    const auto run = [&](auto &&...asc_argument) {{ {kernel.name}(asc_argument...); }};
    ::asc_host::launcher(asc_blocks)(run)({given});
    return 0;
}}"""


def _parameters(kernel: KernelFunction) -> str:
    """Pointers are untyped: programs include the header without Ascend C."""
    given = []
    for p in kernel.parameters:
        kind = "void *" if p.is_pointer else f"{p.type} "
        given.append(f"{kind}{p.name}")
    return ", ".join(["uint32_t asc_blocks", "aclrtStream asc_stream", *given])


def _put(path: Path, text: str) -> Path:
    """Writes it where it changes, so that nothing is compiled again for nothing."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        atomic_file.write(path, text)
    return path
