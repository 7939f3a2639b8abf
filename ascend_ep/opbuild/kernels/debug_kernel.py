"""debug_kernel: a kernel of anybody in gdb, compiled without optimisation, stopped at its first line."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.call_request import pack
from ascend_ep.opbuild.ascendc.cpp import linked

from .run_kernel import RunRequest, prepared
from .units import CHECKED, UNCHECKED, program_units

DEBUG = ("-std=c++20", "-O0", "-g3")


def debug_kernel(request: RunRequest, block: int | None, commands: Sequence[str], batch: bool) -> int:
    """Runs gdb on one call and returns its exit status. `block`: which block's thread it stops in, None for
    any; `commands` are gdb's own, given when it has stopped there; `batch` ends gdb behind them.

    Raises AscendError E43001 without gdb or a C++ compiler, and as run_kernel does before the call.
    """
    gdb = shutil.which("gdb")
    if gdb is None:
        raise AscendError("E43001", "gdb", fix="Install gdb; `ascend-op run` names broken rules without it.")
    kernel, assembly, call, _ = prepared(request)
    units = [
        replace(unit, flags=(*DEBUG, *unit.flags[3:])) if unit.flags in (CHECKED, UNCHECKED) else unit
        for unit in program_units(assembly, request.is_checked, request.soc)
    ]
    program = linked(units, "run")
    stop = f"break asc_kernel_0_{kernel.name}"
    if block is not None:
        stop += f" if asc_cpu::the_core->block_idx == {block}"  # cores take turns
    with tempfile.TemporaryDirectory(prefix="ascend_ep_debug_") as folder:
        given = Path(folder) / "call"
        given.write_bytes(pack(call))
        first = [
            *("set confirm off", "set pagination off", "set print thread-events off"),
            *(stop, f"run < {given} > /dev/null"),
        ]
        arguments = [part for text in (*first, *commands) for part in ("-ex", text)]
        ended = subprocess.run(
            [gdb, "-q", *(["-batch"] if batch else []), *arguments, "--args", str(program), "0"], check=False
        )
    return ended.returncode
