"""Standard input, output and error as every command has them: open, even where the shell closed them; output
that is named in the error when it fails, and that shows by number what the terminal has no character for.
What standard error has no room or reader for is dropped: a command ends with its own status all the same.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

#: What a failure to print is about, in place of a file's name.
OUTPUT = "standard output"
#: How each is opened when it is closed: nothing can be read from it or printed to it, as before, but no file
#: that the command opens gets its number. What is said on a standard error that is closed has no reader.
_CLOSED = (("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))
_ESCAPED = "ascend_ep.escaped"
#: How Python treats characters that the terminal lacks if nobody has said.
_UNSAID = ("strict", "surrogateescape")


@contextmanager
def standard_streams() -> Iterator[None]:
    """Around a command. Streams that a program has put in place of Python's own stay what they are."""
    _open_closed()
    with _replaced("stdout", _Output), _replaced("stderr", _Errors):
        yield


@contextmanager
def _replaced(name: str, kind: type[io.FileIO]) -> Iterator[None]:
    before, own = getattr(sys, name), getattr(sys, f"__{name}__")
    made = _over(before, kind) if _is_file(before) else before
    setattr(sys, name, made)
    if own is before:
        setattr(sys, f"__{name}__", made)
    try:
        yield
    finally:
        with suppress(OSError, ValueError):  # its reader has gone, or a program closed it
            made.flush()
        if getattr(sys, name) is made:
            setattr(sys, name, before)
        setattr(sys, f"__{name}__", own)


def _open_closed() -> None:
    for number, (name, flags) in enumerate(_CLOSED):
        try:
            os.fstat(number)
        except OSError as error:
            if error.errno == errno.EBADF:
                os.set_inheritable(os.open(os.devnull, flags), True)
        if getattr(sys, name) is None:
            made = io.TextIOWrapper(_opened(number), encoding="utf-8")
            setattr(sys, name, made)
            setattr(sys, f"__{name}__", made)


def _opened(number: int) -> Any:
    raw = io.FileIO(number, "w" if number else "r", closefd=False)
    return io.BufferedWriter(raw) if number else io.BufferedReader(raw)


def _is_file(stream: Any) -> bool:
    if not isinstance(stream, io.TextIOWrapper) or stream.closed:
        return False
    return isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO)


def _over(stream: Any, kind: type[io.FileIO]) -> io.TextIOWrapper:
    with suppress(OSError):
        stream.flush()
    raw = kind(stream.fileno(), "w", closefd=False)
    errors = _ESCAPED if stream.errors in _UNSAID else stream.errors
    if stream.write_through:  # as with PYTHONUNBUFFERED
        below: Any = raw
        return io.TextIOWrapper(below, stream.encoding, errors, write_through=True)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, errors, line_buffering=stream.line_buffering
    )


class _Output(io.FileIO):
    """A descriptor whose failures have a name."""

    def write(self, data: Any, /) -> int:
        """Raises OSError with OUTPUT for the file's name."""
        try:
            return super().write(data)
        except OSError as error:
            error.filename = OUTPUT
            raise


class _Errors(io.FileIO):
    """A descriptor that takes everything."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """JSON's and Python's escapes: what is valid JSON stays so."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)), error.end


codecs.register_error(_ESCAPED, _escaped)
