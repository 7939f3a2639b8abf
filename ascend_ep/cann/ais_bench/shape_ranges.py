"""--dymShape_range: a benchmark for every shape in ranges, the fastest first."""

from __future__ import annotations

import argparse
import copy
import itertools
import os
from collections.abc import Sequence

import numpy as np

from ascend_ep import regular_file
from ascend_ep.cann.aclruntime.failure import Failure
from ascend_ep.errors import AscendError

from .benchmark import run
from .log import logger
from .summary import Summary

#: More shapes than anybody waits for are a mistake.
MOST = 100_000


def run_ranges(given: argparse.Namespace, words: Sequence[str]) -> int:
    """Times every shape of `name:1,3,224~230,224-256` or of the lines of such a file; 1 when none ran."""
    found: list[tuple[float, str, str]] = []
    for shapes in shapes_of(given.dymShape_range):
        options, summary = copy.copy(given), Summary()
        options.dymShape = shapes
        try:
            run(options, [*words, f"--dymShape={shapes}"], summary)
            found.append((summary.infodict["throughput"], shapes, "OK"))
        except AscendError as error:
            logger.error(str(error))
            found.append((0.0, shapes, "Failed"))
        logger.info(f"dymshape:{shapes} end run result:{found[-1][2]}")
    good = [throughput for throughput, _, result in found if result == "OK"]
    logger.info("-----------------dyshape_range Performance Summary------------------")
    mean = np.mean(good) if good else 0.0
    logger.info(f"run_count:{len(found)} success_count:{len(good)} avg_throughput:{mean}")
    for i, (throughput, shapes, result) in enumerate(sorted(found, key=lambda f: -f[0])):
        logger.info(f"{i} dymshape:{shapes}  result:{result} throughput:{throughput}")
    logger.info("------------------------------------------------------")
    return 0 if good else 1


def shapes_of(text: str) -> list[str]:
    """Every choice of shapes, as --dymShape takes it. Raises Failure E45001."""
    lines = [text]
    if os.path.isfile(text):
        lines = [
            line.strip()
            for line in regular_file.read(text).decode(errors="replace").splitlines()
            if line.strip()
        ]
    found: list[str] = []
    for line in lines:
        inputs = [_choices(part) for part in filter(None, line.split(";"))]
        found += [";".join(each) for each in itertools.product(*inputs)]
    if not found:
        raise Failure("E45001", "dymShape_range", f"[{text}] names no shape")
    return found


def _choices(part: str) -> list[str]:
    """Of `name:1,2~6~2,3-5` the shapes of this input: 2~6~2 are 2, 4 and 6; 3-5 are 3 and 5."""
    name, colon, dims = part.rpartition(":")
    try:
        sizes = [_sizes(dim) for dim in dims.split(",")]
    except ValueError:
        sizes = []
    if not colon or not sizes or not 0 < np.prod([float(len(s)) for s in sizes]) <= MOST:
        fix = "Write name:1,3,224~230,224-256;other:1,300."
        raise Failure("E45001", "dymShape_range", f"[{part}] is no name with up to {MOST} shapes", fix=fix)
    return [f"{name}:{','.join(map(str, each))}" for each in itertools.product(*sizes)]


def _sizes(dim: str) -> Sequence[int]:
    if "~" in dim:
        start, end, *step = map(int, dim.split("~"))
        return range(start, end + 1, *(step or [1]))
    return [int(n) for n in dim.split("-")]
