"""Where the log goes, and what a line of it looks like."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path

from ascend_ep.errors import AscendError

from .limit import RateLimit

#: Of a record: the dict with what a line of JSON has besides its message.
FIELDS = "ascend_fields"


class TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = f"{_time(record)} {record.levelname} {record.getMessage()}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """One object a line: time, level, message, and the fields of the record."""

    def format(self, record: logging.LogRecord) -> str:
        shown = {"time": _time(record), "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            shown["exception"] = self.formatException(record.exc_info)
        return json.dumps(shown | getattr(record, FIELDS, {}))


def set_up(level: str, form: str, file: Path | None) -> None:
    """The whole process's log from now on. form: "json", else text. Raises AscendError E50034 when the file
    can't be written."""
    try:
        handler = logging.StreamHandler(sys.stderr) if file is None else logging.FileHandler(file)
    except OSError as error:
        raise AscendError("E50034", file, "log-file", error.strerror or error) from error
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    handler.addFilter(RateLimit())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _time(record: logging.LogRecord) -> str:
    made = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return made.replace("+00:00", "Z")
