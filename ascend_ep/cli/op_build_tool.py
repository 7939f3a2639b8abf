"""op_build LIBRARY DIR, as build files of projects call it: what a compiled op_host registers becomes
operators, and their sources of aclnn, in DIR."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from pathlib import Path

from ascend_ep.cli.command import command
from ascend_ep.errors import AscendError

WRONG_USAGE = 2


@command("op_build")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) != 2:
        print("usage: op_build LIBRARY DIR", file=sys.stderr)
        return WRONG_USAGE
    from ascend_ep.opbuild.kernels.autogen import generate

    def show(stage: str, text: str) -> None:
        print(f"op_build: {stage}: {text}", flush=True)

    for path in generate(_host_files(Path(given[0])), Path(given[1]), show):
        show("written", str(path))
    return 0


def _host_files(library: Path) -> list[Path]:
    """Where the host files that a library was compiled of are. Raises AscendError E43205."""
    try:
        files = ctypes.CDLL(str(library.resolve())).asc_op_host_files
    except (OSError, AttributeError) as error:
        fix = "Compile the files of op_host with the headers of `ascend-ep toolkit`."
        raise AscendError(
            "E43205", library, f"it can't be asked what it registers ({error})", fix=fix
        ) from None
    files.restype = ctypes.c_char_p
    return [Path(line).resolve() for line in files().decode().splitlines()]


if __name__ == "__main__":
    sys.exit(main())
