"""`ascend-ep msame` and `ascend-ep benchmark`: command lines of tools that ais_bench replaced."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

OLDER_TOOLS = {
    "msame": "the command line of msame",
    "benchmark": "the command line of benchmark.x86_64",
}


def run_older_tool(tool: str, words: Sequence[str]) -> int:
    """Runs the command line of a tool and returns its exit status."""
    module = importlib.import_module(f"ascend_ep.cann.older_tools.{tool}")
    status: int = module.main(list(words))
    return status
