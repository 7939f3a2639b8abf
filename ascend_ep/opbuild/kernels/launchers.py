"""Kernels as functions of a program, as ascendc_library of build files has it: aclrtlaunch_<kernel>(blocks,
stream, arguments) and its header, behind which the kernel runs on this CPU. Each kernel is one of a binary,
too, which programs load by aclrtBinaryLoadFromFile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ascend_ep import atomic_file

from .launch_functions import header_name, launch_function, launch_header
from .signature import kernels_of
from .units import included_source


def write_launchers(files: Sequence[Path], folder: Path) -> list[Path]:
    """A source for each file, which includes it, and a header for each of its kernels. Returns the sources.

    Raises AscendError E41010.
    """
    atomic_file.make_folder(folder)
    made = []
    for number, path in enumerate(files):
        kernels = [k for k in kernels_of(path) if not k.template]
        for kernel in kernels:
            _put(folder / header_name(kernel.name), launch_header(kernel))
        lines = [
            '#include "kernel_operator.h"',
            '#include "host/kernel_binary.h"',
            '#include "acl/acl_rt.h"',
            included_source(path),
            *(launch_function(k) for k in kernels),
            *(f"ASC_KERNEL_BINARY({k.name})" for k in kernels),
        ]
        made.append(_put(folder / f"{path.stem}_{number}.cpp", "\n".join(lines) + "\n"))
    return made


def _put(path: Path, text: str) -> Path:
    """Writes it where it changes, so that nothing is compiled again for nothing."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        atomic_file.write(path, text)
    return path
