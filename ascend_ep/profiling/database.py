"""msprof_<stamp>.db: the tables of msprof's database for what a profile holds.

Names are numbers in STRING_IDS. Columns that begin with cpu say what computed a call here, of which msprof's
database has nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError
from ascend_ep.profiling.msprof_files import chosen_for, formats_of, given, shapes_of, tasks, types_of
from ascend_ep.profiling.profile import Profile, own

SCHEMA = """
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE SESSION_TIME_INFO (startTimeNs INTEGER, endTimeNs INTEGER);
CREATE TABLE NPU_INFO (id INTEGER, name TEXT);
CREATE TABLE HOST_INFO (hostUid INTEGER, hostName TEXT);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER,
  globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER,
  taskId INTEGER, modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER,
  mixBlockDim INTEGER, taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER,
  inputShapes INTEGER, outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER,
  attrInfo INTEGER, opState INTEGER, hf32Eligible INTEGER,
  cpuKernel INTEGER, cpuIsa INTEGER, cpuSchedule INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,
  connectionId INTEGER PRIMARY KEY, name INTEGER);
CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE META_DATA (name TEXT, value TEXT);
"""
#: Of what the host calls, as the database numbers them.
LEVELS = {"acl": 20000, "model": 15000}


class _Strings:
    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def write_database(profile: Profile) -> Path:
    """Writes it into the profile's folder, in place of an older one. Raises AscendError E40002, E44011."""
    path = own(profile).folder / f"msprof_{profile.stamp}.db"
    made = atomic_file.beside_of(path)
    try:
        with closing(sqlite3.connect(made)) as database, database:
            _fill(database, profile)
        atomic_file.put(made, path)
    except (OSError, sqlite3.Error) as error:
        raise AscendError("E40002", f"can't write [{path}]: {error}") from error
    finally:
        with suppress(OSError):
            made.unlink()
    return path


def _fill(database: sqlite3.Connection, profile: Profile) -> None:
    strings = _Strings()
    database.executescript(SCHEMA)
    database.executemany("INSERT INTO TASK VALUES (?,?,?,?,?,?,?,?,?,?,?)", _tasks(profile, strings))
    marks = ",".join("?" * 18)
    database.executemany(f"INSERT INTO COMPUTE_TASK_INFO VALUES ({marks})", _infos(profile, strings))
    database.executemany("INSERT INTO CANN_API VALUES (?,?,?,?,?,?)", _apis(profile, strings))
    levels = [(number, name) for name, number in LEVELS.items()]
    database.executemany("INSERT INTO ENUM_API_TYPE VALUES (?,?)", levels)
    starts = [p.start + p.epoch_ns for p in profile.processes]
    ends = [p.end + p.epoch_ns for p in profile.processes]
    database.execute("INSERT INTO SESSION_TIME_INFO VALUES (?,?)", (min(starts), max(ends)))
    database.execute("INSERT INTO META_DATA VALUES ('producer', 'ascend-ep')")
    database.executemany("INSERT INTO STRING_IDS VALUES (?,?)", [(i, t) for t, i in strings.numbers.items()])


def _tasks(profile: Profile, strings: _Strings) -> Iterator[tuple[int, ...]]:
    for task in tasks(profile):
        site, end = task.site, task.start + task.duration
        kind, pid = strings(site.core), site.process.pid
        numbers = (kind, 0xFFFFFFFF, task.stream, task.number, site.bound.model_id)
        yield (task.start, end, 0, task.run, task.number, pid, *numbers)


def _infos(profile: Profile, strings: _Strings) -> Iterator[tuple[int, ...]]:
    for task in tasks(profile):
        site = task.site
        sides = (given(site.call.inputs), given(site.call.outputs))
        parts = [strings(part(side)) for side in sides for part in (formats_of, types_of, shapes_of)]
        kinds = (site.bound.threads, 0, strings(site.core), strings(site.op_type))
        rest = (strings(""), strings("static"), strings("NO"))
        yield (strings(site.name), task.number, *kinds, *parts, *rest, *map(strings, chosen_for(site)))


def _apis(profile: Profile, strings: _Strings) -> Iterator[tuple[int, ...]]:
    number = 0
    for process in profile.processes:
        apis = {bound.number: bound.api for bound in process.bounds}
        for run in process.runs.tolist():
            bound, thread, start, end, *_ = run
            times = (start + process.epoch_ns, end + process.epoch_ns)
            level, name = apis[bound]
            yield (*times, LEVELS[level], process.pid << 32 | thread, number, strings(name))
            number += 1
