"""The folder OPPROF_... that `msprof op` makes: tables OpBasicInfo of each operator that was asked for, and
PipeUtilization, by a model.

Other files of counters (Memory, L2Cache, ...) aren't written: nothing here counts or models what is in them.
"""

from __future__ import annotations

import os
import random
import re
import string
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from ascend_ep.cann.chip_rates import ChipRates
from ascend_ep.errors import AscendError
from ascend_ep.profiling.msprof_files import ABSENT, DEVICE, Task, tasks, us, write_table
from ascend_ep.profiling.pipe_utilization import HEADER, pipe_row
from ascend_ep.profiling.profile import Profile

OP_BASIC_INFO = [
    *("Op Name", "Op Type", "Task Duration(us)", "Block Dim", "Mix Block Dim", "Device Id", "Pid"),
    *("Current Freq", "Rated Freq"),
]


def new_folder(output: str | os.PathLike[str]) -> Path:
    """A new folder OPPROF_... in `output`, with `dump` for the profile. Raises AscendError E40002."""
    letters = "".join(random.choices(string.ascii_uppercase, k=16))
    folder = Path(output) / f"OPPROF_{datetime.now():%Y%m%d%H%M%S}_{letters}"
    try:
        (folder / "dump").mkdir(parents=True)
    except OSError as error:
        raise AscendError("E40002", f"can't write [{folder}]: {error.strerror}") from error
    return folder


def chosen(profile: Profile, names: re.Pattern[str] | None, count: int, skip: int) -> list[Task]:
    """The first `count` calls, in the order in which they began, behind the first `skip` ones, whose name,
    type or kernel begins as `names` says."""
    found = []
    for task in sorted(tasks(profile), key=lambda task: task.start)[skip:]:
        site = task.site
        if names is None or any(names.match(n) for n in (site.name, site.op_type, site.call.kernel)):
            found.append(task)
            if len(found) == count:
                break
    return found


def write_operators(folder: Path, found: Sequence[Task], rates: ChipRates | None = None) -> list[Path]:
    """Of one call OpBasicInfo.csv in the folder itself, of several OpBasicInfo_<time>.csv in
    <operator>/<number>; beside each PipeUtilization, of the chip with these rates. Returns the paths of the
    former. Raises AscendError E40002."""
    if len(found) == 1:
        return [_write(folder, "", found[0], rates)]
    numbers: dict[str, int] = defaultdict(int)
    written = []
    for task in found:
        name = re.sub(r"\W", "_", task.site.name)
        moment = datetime.fromtimestamp(task.start / 1e9)
        stamp = f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}"
        written.append(_write(folder / name / str(numbers[name]), f"_{stamp}", task, rates))
        numbers[name] += 1
    return written


def _write(folder: Path, stamp: str, task: Task, rates: ChipRates | None) -> Path:
    if rates is not None:
        write_table(folder / f"PipeUtilization{stamp}.csv", HEADER, [pipe_row(task.site, rates)])
    return write_table(folder / f"OpBasicInfo{stamp}.csv", OP_BASIC_INFO, [_row(task)])


def _row(task: Task) -> list[object]:
    site = task.site
    shape = (us(task.duration), site.bound.threads, ABSENT, DEVICE, site.process.pid)
    return [site.name, site.op_type, *shape, ABSENT, ABSENT]
