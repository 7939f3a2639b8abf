"""`ascend-dbg --kernel=NAME`, `ascend-op debug`: an Ascend C kernel in gdb, at its source."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ascend_ep.cli.op_run import SOC_VERSION, add_kernel_arguments, kernel_request
from ascend_ep.errors import AscendError

EPILOG = """\
example:
  ascend-dbg --kernel=leaky leaky.cpp --input_shape "[2048]" --block_dim 8 --arg total=2048 --arg slope=0.1

gdb waits at the first line of the kernel. Blocks are threads: `info threads` shows them, `thread 3` goes to
another, `break leaky.cpp:24 if asc_cpu::the_core->block_idx == 2` stops in one.
"""
#: Source files in which a kernel is looked for.
MOST_FILES = 2000


def add_debug_command(commands: Any) -> None:
    """Adds it to the subcommands of ascend-op."""
    command = commands.add_parser(
        "debug",
        help="an Ascend C kernel in gdb",
        description="Compiles an Ascend C kernel without optimisation and stops gdb at its first line.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = command.add_argument
    add("files", nargs="*", metavar="FILE", help="its source, or a project (default: found below here)")
    add("--input_shape", default="", metavar="SHAPES", help='random inputs instead of --input: "[4,33];[33]"')
    add("--dtype", action="append", metavar="TYPES", help='their element types, one or by ";"')
    add("--op_type", default="", metavar="TYPE", help="which operator of the host code")
    add("--attr", action="append", default=[], metavar="NAME=VALUE", help="an attribute of the operator")
    add(
        "--soc_version",
        metavar="CHIP",
        help=f"the chip (default: the host code's, {SOC_VERSION} if it has it)",
    )
    add("--block", type=int, metavar="N", help="stop in this block alone")
    add("--ex", action="append", default=[], metavar="COMMAND", help="of gdb, behind the first stop")
    add("--batch", action="store_true", help="end gdb behind these commands")
    add_kernel_arguments(command.add_argument_group("the kernel"))
    command.set_defaults(run=debug)


def debug(given: argparse.Namespace, environ: Mapping[str, str]) -> None:
    """Raises AscendError E43202 where no file has the kernel, E43001 without gdb, E43206 when gdb fails."""
    from ascend_ep.opbuild.kernels.debug_kernel import debug_kernel

    if not given.files and not given.kernel:
        raise AscendError("E43202", "the present folder", "neither --kernel nor a file says which")
    files = given.files or [str(file_with(given.kernel.partition("<")[0], Path()))]
    request, _ = kernel_request(given, files)
    status = debug_kernel(request, given.block, given.ex, given.batch)
    if status:
        raise AscendError("E43206", given.kernel or files[0], f"gdb ended with status {status}")


def file_with(kernel: str, folder: Path) -> Path:
    """The file below the folder that defines the kernel. Raises AscendError E43202 for none or several."""
    defines = re.compile(rf"__global__[^;{{}}()]*\b{re.escape(kernel)}\s*\(")
    paths = [p for pattern in ("*.cpp", "*.cce") for p in sorted(folder.rglob(pattern))][:MOST_FILES]
    found = [p for p in paths if defines.search(p.read_text(encoding="utf-8", errors="replace"))]
    if len(found) != 1:
        where = ", ".join(map(str, found[:5])) or "no .cpp file below the present folder"
        raise AscendError("E43202", kernel, f"it is in {where}", fix="Name its file.")
    return found[0]
