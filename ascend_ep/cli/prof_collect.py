"""Profiling a command and saying where its time went: what `ascend-prof run` and msprof have in common."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ascend_ep.cli.names_of_others import beyond_ascii
from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    from ascend_ep.cann.chip_rates import ChipRates


def model_rates(wanted: bool, chip: str) -> ChipRates | None:
    """What --model-time and --soc_version ask for. Raises AscendError E10004, E10001 and E44009."""
    from ascend_ep.cann.chip_rates import chip_rates
    from ascend_ep.cann.soc import find_soc

    if not wanted:
        if chip:
            raise AscendError("E10004", "model-time", fix="--soc_version is the chip of --model-time.")
        return None
    if not chip:
        raise AscendError("E10004", "soc_version", fix="Name the chip: --soc_version=Ascend910B3.")
    return chip_rates(find_soc(chip))


def collect(
    command: Sequence[str],
    output: str,
    metrics: str,
    counters: bool,
    limit_mb: int,
    quiet: bool,
    rates: ChipRates | None = None,
    as_msprof: str = "",
) -> int:
    """Runs the command, writes msprof's files, prints the tables; returns the command's exit status.
    `as_msprof`: with the line in which scripts look for the folder, and msprof's "text" or "db" files."""
    from ascend_ep.profiling import tables
    from ascend_ep.profiling.collect import run_command
    from ascend_ep.profiling.export import write_database, write_files
    from ascend_ep.profiling.metrics import DEFAULT, columns_of
    from ascend_ep.profiling.profile import open_profile
    from ascend_ep.runtime.tracing import ALL_COUNTERS

    columns_of(metrics or DEFAULT)
    if limit_mb < 0:
        raise AscendError("E10001", limit_mb, "--storage-limit", "It is a number of MB.")
    made = run_command(command, output, ALL_COUNTERS if counters else 0, limit_mb << 20)
    try:
        profile = open_profile(made.folder)
    except AscendError as error:
        if error.code != "E44002":
            raise
        reason = "no model ran in it, in this or any process that it began"
        print(AscendError("E44004", " ".join(command), reason), file=sys.stderr)
        return made.status or 1
    try:
        if as_msprof == "db":
            write_database(profile)
        else:
            write_files(profile, metrics or DEFAULT, rates)
    except AscendError as error:  # the tables are there all the same, and say what was lost
        print(error, file=sys.stderr)
        made = replace(made, status=made.status or 1)
    if as_msprof:
        folder = profile.folder.resolve()
        print(f"[INFO] Process profiling data complete. Data is saved in {folder}")
    if not quiet:
        print(beyond_ascii(tables.text(profile, sys.stdout.isatty(), rates)))
    return made.status
