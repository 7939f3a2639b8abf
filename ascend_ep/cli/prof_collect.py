"""Profiling a command and saying where its time went: what `ascend-prof run` and msprof have in common."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ascend_ep.errors import AscendError


def collect(
    command: Sequence[str], output: str, metrics: str, counters: bool, limit_mb: int, quiet: bool
) -> int:
    """Runs the command, writes msprof's files, prints the tables; returns the command's exit status."""
    from ascend_ep.profiling import tables
    from ascend_ep.profiling.collect import run_command
    from ascend_ep.profiling.export import write_files
    from ascend_ep.profiling.metrics import DEFAULT, columns_of
    from ascend_ep.profiling.profile import open_profile
    from ascend_ep.runtime.tracing import ALL_COUNTERS

    columns_of(metrics or DEFAULT)
    made = run_command(command, output, ALL_COUNTERS if counters else 0, limit_mb << 20)
    try:
        profile = open_profile(made.folder)
    except AscendError as error:
        if error.code != "E44002":
            raise
        reason = "no model ran in it, in this or any process that it began"
        print(AscendError("E44004", " ".join(command), reason), file=sys.stderr)
        return made.status or 1
    write_files(profile, metrics or DEFAULT)
    if not quiet:
        print(tables.text(profile, sys.stdout.isatty()))
    return made.status
