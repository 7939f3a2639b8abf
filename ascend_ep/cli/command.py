"""How every command begins and ends: --version; Ctrl-C, a part that isn't installed, or what the system
refuses in one line, never as a traceback; in silence when its reader has gone, as in `ascend-atc | head`.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import _ascend_ep_start
from ascend_ep.cli.command_line import LINE
from ascend_ep.cli.streams import OUTPUT, standard_streams
from ascend_ep.errors import AscendError, did_you_mean, is_thread_refused
from ascend_ep.extras import lacking
from ascend_ep.interrupt import Interrupt, watching

#: What a shell reports of a program that SIGPIPE or SIGINT ended.
CLOSED, INTERRUPTED = 128 + 13, 128 + 2
FAILED, WRONG_USAGE = 1, 2

#: Digits of a number: no argument of a command is longer, so each is a number, and refused for its size.
_LONGEST_NUMBER = 140_000
_LIMITS = "Check the disk, the open files and the limits of the system."

Main = Callable[..., int]


def command(name: str) -> Callable[[Main], Main]:
    """Makes `main(arguments, ...)` the command `name`."""

    def wrap(main: Main) -> Main:
        @functools.wraps(main)
        def run(arguments: Sequence[str] | None = None, *args: Any, **kwargs: Any) -> int:
            words = list(sys.argv[1:] if arguments is None else arguments)
            sys.set_int_max_str_digits(_LONGEST_NUMBER)
            is_asked = words == ["--version"]
            before = LINE.set(words)
            try:
                with standard_streams(), watching() as interrupt:
                    if is_asked:
                        return _ended(name, lambda: _print_version(name), interrupt)
                    return _ended(name, lambda: main(arguments, *args, **kwargs), interrupt)
            except KeyboardInterrupt:  # before its work had begun
                return _interrupted()
            finally:
                LINE.reset(before)

        return run

    return wrap


def _ended(name: str, work: Callable[[], int], interrupt: Interrupt) -> int:
    """The status of the work, or of what it failed on, which is said."""
    try:
        status = _status(name, work, interrupt)
    except SystemExit as left:
        if interrupt.depth == 1:
            _ascend_ep_start.end(left.code if isinstance(left.code, int) else FAILED)
        raise
    if interrupt.depth == 1:
        _ascend_ep_start.end(status)
    return status


def _status(name: str, work: Callable[[], int], interrupt: Interrupt) -> int:
    try:
        return _done(work, interrupt)
    except BrokenPipeError:
        _leave_output()
        return CLOSED
    except KeyboardInterrupt:
        return _interrupted()
    except AscendError as error:
        return _failed(error)
    except OSError as error:
        return _failed(refused_by_system(error))
    except RuntimeError as error:
        if not is_thread_refused(error):
            raise
        return _failed(AscendError("E40002", f"{name} can't start a thread", fix=_LIMITS))
    except MemoryError:
        return _failed(AscendError("E40008", f"{name} needs more memory than there is"))
    except ModuleNotFoundError as error:
        without = lacking(error)
        if without is None:
            raise
        return _failed(without)


def _done(work: Callable[[], int], interrupt: Interrupt) -> int:
    """The status of the work, whose reader has all that it printed."""
    try:
        status = work()
        sys.stdout.flush()
    except SystemExit:  # argparse's, after what it has printed
        sys.stdout.flush()
        raise
    finally:
        interrupt.end_work()  # one that is pending is what it ends in, whatever the work made of it
    return status


def _interrupted() -> int:
    print(AscendError("E43108"), file=sys.stderr)
    return INTERRUPTED


def _failed(error: AscendError) -> int:
    _leave_output()
    print(error, file=sys.stderr)
    return FAILED


def refused_by_system(error: OSError) -> AscendError:
    """What nothing closer to the call has named: which file, and the system's reason."""
    of = error.filename2 or error.filename
    reason = error.strerror or str(error)
    if of is None:
        return AscendError("E40002", reason, fix=_LIMITS)
    if of == OUTPUT:
        return AscendError("E40002", f"can't write to {OUTPUT}: {reason}", fix="Give it a reader with room.")
    shown = os.fsdecode(of) if isinstance(of, str | bytes) else str(of)
    return AscendError("E40002", f"can't use [{shown}]: {reason}")


def _leave_output() -> None:
    """What is still to be printed has no reader, or no room: nothing may fail on it again at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(name: str) -> int:
    from ascend_ep import __version__

    print(f"{name} {__version__}")
    return 0


def positive(text: str) -> float:
    """For argparse. Raises ValueError for what is no finite number above 0."""
    if not 0 < (value := float(text)) < float("inf"):
        raise ValueError(text)
    return value


def seconds(text: str) -> float:
    """For argparse. Raises ValueError for what is no finite number from 0 on."""
    if not 0 <= (value := float(text)) < float("inf"):
        raise ValueError(text)
    return value


def count(text: str) -> int:
    """For argparse. Raises ValueError for less than 0."""
    if (value := int(text)) < 0:
        raise ValueError(text)
    return value


def seed(text: str) -> int:
    """For argparse, which says what it is none of. Raises ValueError for less than 0."""
    return count(text)


def refuse_unused(given: argparse.Namespace, names: Iterable[str], reason: str) -> None:
    """Raises AscendError E10001 where one of these flags, which has no effect beside the others, was given.

    The parser's `set_defaults` has `parser`, itself.
    """
    for name in names:
        value = getattr(given, name)
        if value != given.parser.get_default(name):
            shown = " ".join(map(str, value)) if isinstance(value, list) else value
            raise AscendError("E10001", shown, f"--{name.replace('_', '-')}", reason)


class Parser(argparse.ArgumentParser):
    """argparse's, but what is wrong with a line is one coded error, with what may have been meant, and help
    that can't be printed isn't passed over."""

    _last: Parser

    def error(self, message: str) -> NoReturn:
        """Ends the command with status 2, as argparse does."""
        near, prog = "", self.prog
        if choice := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
            near = did_you_mean(choice[1], re.findall(r"[\w.-]+", choice[2]))
        elif stranger := re.search(r"unrecognized arguments: (\S+)", message):
            near = self._meant(stranger[1].partition("=")[0]) if stranger[1].startswith("-") else ""
            prog = self._chosen.prog
        print(AscendError("E40021", f"{message}.{near}", fix=f"{prog} --help"), file=sys.stderr)
        raise SystemExit(WRONG_USAGE)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Notes which command's line this is: argparse reports strangers at the top."""
        Parser._last = self
        return super().parse_known_args(args, namespace)

    @property
    def _chosen(self) -> Parser:
        """The command of its own that parsed last, or this one."""
        return Parser._last if Parser._last.prog.startswith(f"{self.prog} ") else self

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """What --flag=-- gives the flag: argparse takes that for the end of the flags, and gives a list."""
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            value = self._get_value(action, "--")
            self._check_value(action, value)
            return value
        return super()._get_values(action, arg_strings)

    def _print_message(self, message: str, file: Any = None) -> None:
        (file or sys.stderr).write(message)

    def _meant(self, flag: str) -> str:
        """The commands that have this flag, or flags that are like it."""
        flags = self._every_flag()
        if flag not in flags:
            own = self._chosen._every_flag()
            return did_you_mean(flag, [f for f in own if f != "--help" or flag.startswith("--h")])
        return f" [{flag}] is of {', '.join(f'`{command}`' for command in flags[flag])}"

    def _every_flag(self) -> dict[str, list[str]]:
        """Those of this command and of its own commands, with who has them: argparse reports strangers at the
        top."""
        found = {flag: [self.prog] for action in self._actions for flag in action.option_strings}
        below = (a.choices for a in self._actions if isinstance(a, argparse._SubParsersAction))
        for parser in (parser for parsers in below for parser in parsers.values()):
            for flag, owners in parser._every_flag().items():
                found[flag] = [*found.get(flag, []), *owners]
        return found
