"""asc_launchers DIR FILE...: writes what ascendc_library of build files compiles, and says the names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ascend_ep.cli.command import command

WRONG_USAGE = 2


@command("asc_launchers")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) < 2:
        print("usage: asc_launchers DIR FILE...", file=sys.stderr)
        return WRONG_USAGE
    from ascend_ep.opbuild.kernels.launchers import write_launchers

    for path in write_launchers([Path(p).resolve() for p in given[1:]], Path(given[0])):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
