"""Logs where users of CANN look for them: $ASCEND_PROCESS_LOG_PATH, or $HOME/ascend/log; a file a process.

libascendcl writes what programs log by aclAppLog, and its own failures; `LogFiles` writes what Python's
logging gets. A line is `[ERROR] APP(PID,PROGRAM):2026-01-02-03:04:05.678.901 [file:line]THREAD text`.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ascend_ep import regular_file
from ascend_ep.errors import AscendError

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_LINE = re.compile(
    r"\[(?P<level>DEBUG|INFO|WARNING|ERROR|EVENT)\] (?P<module>\w+)\((?P<pid>\d+),(?P<program>[^)]*)\):"
    r"(?P<time>[\d:.-]+) \[(?P<place>[^\]]*)\](?P<thread>\d*) ?(?P<text>.*)"
)
#: Of a log file that is read, and lines of a record.
MOST_BYTES, MOST_LINES = 1 << 28, 1000


@dataclass(frozen=True)
class Record:
    """One entry; `time` as written, which sorts by time; `text` has several lines where it did."""

    level: str
    module: str
    pid: int
    program: str
    time: str
    place: str
    text: str

    def __str__(self) -> str:
        return (
            f"[{self.level}] {self.module}({self.pid},{self.program}):{self.time} [{self.place}] {self.text}"
        )

    def as_json(self) -> dict[str, str | int]:
        return dict(vars(self))


def log_folder() -> Path:
    """Where logs lie."""
    given = os.environ.get("ASCEND_PROCESS_LOG_PATH")
    return Path(given) if given else Path.home() / "ascend" / "log"


def least_level() -> int:
    """What $ASCEND_GLOBAL_LOG_LEVEL says: 0 debug to 3 errors, the default; 4 nothing."""
    text = os.environ.get("ASCEND_GLOBAL_LOG_LEVEL", "")
    return int(text) if text in tuple("01234") else 3


def records(folder: Path, least: str = "DEBUG") -> list[Record]:
    """All entries in the files below the folder from this level on, by time.

    Raises AscendError E40002 for a folder that can't be read.
    """
    if not folder.is_dir():
        raise AscendError("E40002", f"there is no folder [{folder}]")
    wanted = {*LEVELS[LEVELS.index(least) :], *(("EVENT",) if least in ("DEBUG", "INFO") else ())}
    found = [r for path in sorted(folder.rglob("*.log")) for r in _read(path) if r.level in wanted]
    return sorted(found, key=lambda record: record.time)


def _read(path: Path) -> Iterator[Record]:
    """Entries of a file; lines that are none belong to the entry before."""
    try:
        with regular_file.opened(path) as file:
            lines = file.read(MOST_BYTES).decode(errors="replace").splitlines()
    except OSError as error:
        raise AscendError("E40002", f"can't read [{path}]: {error.strerror}") from error
    head: re.Match[str] | None = None
    more: list[str] = []
    for line in [*lines, None]:
        match = _LINE.fullmatch(line) if line is not None else None
        if line is not None and match is None:
            more[len(more) :] = [line] * (len(more) < MOST_LINES)
            continue
        if head is not None:
            parts = head.groupdict()
            text = "\n".join([parts["text"], *more])
            yield Record(
                parts["level"],
                parts["module"],
                int(parts["pid"]),
                parts["program"],
                parts["time"],
                parts["place"],
                text,
            )
        head, more = match, []


class LogFiles(logging.Handler):
    """Writes what Python logs into the same files, or to standard output with ASCEND_SLOG_PRINT_TO_STDOUT=1.

    What can't be written is lost, as logging has it; the program goes on.
    """

    def __init__(self, module: str = "ASCEND_EP") -> None:
        super().__init__()
        self.module = module
        self._path: Path | None = None

    def emit(self, record: logging.LogRecord) -> None:
        level = min(3, max(0, record.levelno // 10 - 1))
        if level < least_level():
            return
        now = datetime.fromtimestamp(record.created)
        program = Path(sys.argv[0]).name or "python"
        stamp = f"{now:%Y-%m-%d-%H:%M:%S}.{now.microsecond // 1000:03d}.{now.microsecond % 1000:03d}"
        place = f"{record.filename}:{record.lineno}"
        head = f"[{LEVELS[level]}] {self.module}({os.getpid()},{program}):{stamp} [{place}]"
        line = f"{head}{threading.get_native_id()} {self.format(record)}\n"
        if os.environ.get("ASCEND_SLOG_PRINT_TO_STDOUT") == "1":
            sys.stdout.write(line)
            return
        with suppress(OSError):
            if self._path is None:
                folder = log_folder() / "debug" / "plog"
                folder.mkdir(parents=True, exist_ok=True)
                part = f"{now:%Y%m%d%H%M%S}{now.microsecond // 1000:03d}"
                self._path = folder / f"plog-{os.getpid()}_{part}.log"
            with open(self._path, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(line)
