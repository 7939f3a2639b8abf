"""`python -m ais_bench`: one benchmark, one for every shape in a range, or one on each of several devices."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ascend_ep.errors import AscendError

from . import benchmark, options, several_devices, shape_ranges
from .log import logger
from .summary import Summary


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status: 0, 1 after a failure, 2 for a wrong option."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        given = options.parse(words)
        if given.dymShape_range and not given.dymShape:
            return shape_ranges.run_ranges(given, words)
        if isinstance(given.device, list):
            return several_devices.run_devices(given, words)
        benchmark.run(given, words, Summary())
    except AscendError as error:
        logger.error(str(error))
        return 1
    return 0
