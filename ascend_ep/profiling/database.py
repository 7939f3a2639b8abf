"""msprof_<stamp>.db and ascend_pytorch_profiler.db: the tables of the databases of msprof and of the PyTorch
profiler for Ascend, for what a profile holds.

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
from ascend_ep.profiling.timeline import operator_name
from ascend_ep.profiling.work import COMMUNICATION

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
  cpuKernel INTEGER, cpuIsa INTEGER, cpuSchedule INTEGER, cpuQueueNs INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,
  connectionId INTEGER PRIMARY KEY, name INTEGER);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER,
  groupName INTEGER, opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER,
  algType INTEGER, count INTEGER, opType INTEGER);
CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE META_DATA (name TEXT, value TEXT);
"""
#: What the PyTorch profiler adds: operators of the host, and which of msprof's connections are theirs.
TORCH_SCHEMA = """
CREATE TABLE PYTORCH_API (startNs INTEGER, endNs INTEGER, globalTid INTEGER, connectionId INTEGER,
  name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER,
  callchainId INTEGER, type INTEGER);
CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);
CREATE TABLE STEP_TIME (id INTEGER PRIMARY KEY, startNs INTEGER, endNs INTEGER);
"""
#: The number of its operators among the levels.
OPERATOR = 50001
#: Of what the host calls, as the database numbers them.
LEVELS = {"acl": 20000, "model": 15000}


class _Strings:
    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def write_database(profile: Profile) -> Path:
    """Writes it into the profile's folder, in place of an older one. Raises AscendError E40002, E44011."""
    return _write(own(profile), profile.folder / f"msprof_{profile.stamp}.db", False)


def write_torch_database(profile: Profile, path: Path) -> Path:
    """The one of the PyTorch profiler: each call is an operator of the host, too, as in trace_view.json.

    Raises AscendError E40002.
    """
    return _write(profile, path, True)


def _write(profile: Profile, path: Path, of_torch: bool) -> Path:
    made = atomic_file.beside_of(path)
    try:
        with closing(sqlite3.connect(made)) as database, database:
            _fill(database, profile, of_torch)
        atomic_file.put(made, path)
    except (OSError, sqlite3.Error) as error:
        raise AscendError("E40002", f"can't write [{path}]: {error}") from error
    finally:
        with suppress(OSError):
            made.unlink()
    return path


def _fill(database: sqlite3.Connection, profile: Profile, of_torch: bool) -> None:
    strings = _Strings()
    database.executescript(SCHEMA)
    if of_torch:
        _fill_torch(database, profile, strings)
    database.executemany("INSERT INTO TASK VALUES (?,?,?,?,?,?,?,?,?,?,?)", _tasks(profile, strings))
    marks = ",".join("?" * 19)
    database.executemany(f"INSERT INTO COMPUTE_TASK_INFO VALUES ({marks})", _infos(profile, strings))
    database.executemany("INSERT INTO CANN_API VALUES (?,?,?,?,?,?)", _apis(profile, strings))
    marks = ",".join("?" * 12)
    database.executemany(f"INSERT INTO COMMUNICATION_OP VALUES ({marks})", _collectives(profile, strings))
    levels = [(number, name) for name, number in LEVELS.items()]
    database.executemany("INSERT INTO ENUM_API_TYPE VALUES (?,?)", levels)
    starts = [p.start + p.epoch_ns for p in profile.processes]
    ends = [p.end + p.epoch_ns for p in profile.processes]
    database.execute("INSERT INTO SESSION_TIME_INFO VALUES (?,?)", (min(starts), max(ends)))
    database.execute("INSERT INTO META_DATA VALUES ('producer', 'ascend-ep')")
    database.executemany("INSERT INTO STRING_IDS VALUES (?,?)", [(i, t) for t, i in strings.numbers.items()])


def _fill_torch(database: sqlite3.Connection, profile: Profile, strings: _Strings) -> None:
    database.executescript(TORCH_SCHEMA)
    database.execute("INSERT INTO ENUM_API_TYPE VALUES (?,'op')", (OPERATOR,))
    steps: dict[int, tuple[int, int]] = {}
    for task in tasks(profile):
        number, end = connection(task.number), task.start + task.duration
        first, last = steps.get(task.step, (task.start, end))
        steps[task.step] = (min(first, task.start), max(last, end))
        thread = task.site.process.pid << 32 | task.stream
        operands = given(task.site.call.inputs)
        kinds = (strings(types_of(operands)), strings(shapes_of(operands).strip('"')))
        row = (
            task.start,
            end,
            thread,
            number,
            strings(operator_name(task)),
            None,
            None,
            *kinds,
            None,
            OPERATOR,
        )
        database.execute(f"INSERT INTO PYTORCH_API VALUES ({','.join('?' * 11)})", row)
        database.execute("INSERT INTO CONNECTION_IDS VALUES (?,?)", (number, number))
    rows = [(step, *times) for step, times in steps.items()]
    database.executemany("INSERT INTO STEP_TIME VALUES (?,?,?)", rows)


def connection(number: int) -> int:
    """What connects a call to what launched it; 0 would be none."""
    return number + 1


def _tasks(profile: Profile, strings: _Strings) -> Iterator[tuple[int, ...]]:
    for task in tasks(profile):
        site, end = task.site, task.start + task.duration
        kind, pid = strings(site.core), site.process.pid
        numbers = (kind, 0xFFFFFFFF, task.stream, task.number, site.bound.model_id)
        yield (task.start, end, 0, connection(task.number), task.number, pid, *numbers)


def _infos(profile: Profile, strings: _Strings) -> Iterator[tuple[int | None, ...]]:
    for task in tasks(profile):
        site = task.site
        if site.core == COMMUNICATION:
            continue
        sides = (given(site.call.inputs), given(site.call.outputs))
        parts = [strings(part(side)) for side in sides for part in (formats_of, types_of, shapes_of)]
        kinds = (site.bound.threads, 0, strings(site.core), strings(site.op_type))
        rest = (strings(""), strings("static"), strings("NO"))
        chosen = (*map(strings, chosen_for(site)), task.queued)
        yield (strings(site.name), task.number, *kinds, *parts, *rest, *chosen)


def _collectives(profile: Profile, strings: _Strings) -> Iterator[tuple[int | None, ...]]:
    """Operations of HCCL; what isn't measured of them is NULL."""
    for task in tasks(profile):
        if task.site.core != COMMUNICATION:
            continue
        call, end = task.site.call, task.start + task.duration
        kind, _, group = task.site.name.partition("@")
        moved = next((o for o in (*call.inputs, *call.outputs) if o), None)
        dtype, count = (strings(types_of([moved])), moved.dims[0]) if moved else (None, 0)
        names = (connection(task.number), strings(group), task.number)
        yield (strings(kind), task.start, end, *names, None, None, dtype, None, count, strings(kind))


def _apis(profile: Profile, strings: _Strings) -> Iterator[tuple[int, ...]]:
    """Runs, connected with the first of their calls; of failed ones, which have none, with nothing else."""
    calls, failed = 0, 0
    for process in profile.processes:
        apis = {bound.number: bound.api for bound in process.bounds}
        for run in process.runs.tolist():
            bound, thread, start, end, _, n_calls, *_ = run
            failed -= n_calls == 0
            number = connection(calls) if n_calls else failed
            calls += n_calls
            times = (start + process.epoch_ns, end + process.epoch_ns)
            level, name = apis[bound]
            yield (*times, LEVELS[level], process.pid << 32 | thread, number, strings(name))
