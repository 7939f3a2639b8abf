"""ascend-atc: atc's command line on the CPU. Modes 0 (convert), 1 (to JSON), 3 (pre-check), 6 (show).

Exit status and the text around the work are atc's: 0 and "ATC run success", or 255 and "ATC run
failed" followed by the coded error.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence

from ascend_ep import interrupt
from ascend_ep.cli.atc_arguments import UsageError, check, parse
from ascend_ep.cli.atc_device import check_cores, operator_cache
from ascend_ep.cli.atc_explain import FAILED, explain
from ascend_ep.cli.atc_flags import BY_NAME
from ascend_ep.cli.atc_help import help_text
from ascend_ep.cli.atc_log import own_warnings, warn
from ascend_ep.cli.atc_tensorflow import onnx_source
from ascend_ep.cli.command import command, refused_by_system
from ascend_ep.errors import AscendError
from ascend_ep.extras import lacking

START = "ATC start working now, please wait for a moment."
SUCCESS = "ATC run success, welcome to the next use."
FAILURE = "ATC run failed, Please check the detail log, Try 'atc --help' for more information"


@command("ascend-atc")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        given = parse(words)
    except UsageError as error:
        print(f"ERROR: {error}", file=sys.stderr)
        print(START, "...", FAILURE, sep="\n")
        return FAILED
    if "help" in given:
        print(help_text(given["help"] == "all"))
        return 0
    if "explain" in given:
        return explain(given["explain"])
    if given.get("json") == "-":  # standard output is the JSON's alone
        with contextlib.redirect_stdout(sys.stderr):
            return run(given, words)
    return run(given, words)


def run(given: dict[str, str], words: Sequence[str]) -> int:
    """Does what the flags ask for, between atc's first line and its verdict."""
    print(START, flush=True)
    try:
        check(given)
        note_idle_flags(given)
        with own_warnings(given):
            check_cores(given)
            work = mode(given)
            with operator_cache(given), onnx_source(given) as source:
                remark = work(source, words)
    except BrokenPipeError:
        raise
    except Exception as error:
        interrupt.check()
        print("...", FAILURE, failure_text(coded(error)), sep="\n")
        return FAILED
    interrupt.check()
    print("...", *([remark] if remark else []), SUCCESS, sep="\n")
    return 0


def mode(given: dict[str, str]) -> Callable[[dict[str, str], Sequence[str]], str | None]:
    """The function of the mode asked for; imported now, so that --help stays instant. What it returns is
    said first in the verdict."""
    from ascend_ep.cli import atc_modes

    modes = {
        "0": atc_modes.convert_model,
        "1": atc_modes.write_json,
        "3": atc_modes.check_model,
        "6": atc_modes.show,
    }
    number = given.get("mode", "0")
    if number in ("5", "7", "30"):
        raise AscendError("E10055", f"--mode={number} makes files for the device's own loader.")
    if number not in modes:
        raise AscendError("E10001", number, "--mode", "The value must be one of [0, 1, 3, 6].")
    return modes[number]


def note_idle_flags(given: dict[str, str]) -> None:
    """Says, once each, which of the given flags change nothing here."""
    for name in given:
        flag = BY_NAME[name]
        if not (flag.acts or flag.kept or given[name] == flag.default):
            warn(given, f"--{name} has no effect: {flag.effect}.")


def coded(error: Exception) -> AscendError:
    """What is said of an error: as of other commands', but for mistakes of ours."""
    if isinstance(error, AscendError):
        return error
    if isinstance(error, OSError):
        return refused_by_system(error)
    if isinstance(error, MemoryError):
        return AscendError("E40008", "ascend-atc needs more memory than there is")
    return lacking(error) or unknown(error)


def unknown(error: Exception) -> AscendError:
    """What is said of a mistake of ours; the traceback, for the report, goes to stderr."""
    import traceback

    traceback.print_exception(error)
    return AscendError("E19999", details=[f"{type(error).__name__}: {error}"])


def failure_text(error: AscendError) -> str:
    """The error as atc prints it under its verdict."""
    now = time.time()
    stamp = (
        time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime(now))
        + f".{int(now % 1 * 1e6) // 1000:03d}.{int(now % 1e-3 * 1e6):03d}"
    )
    lines = [
        f"{error.code}: [PID: {os.getpid()}] {stamp} {error.where + ': ' if error.where else ''}{error.text}"
    ]
    if error.fix:
        lines.append(f"        Solution: {error.fix}")
    if error.nodes and error.details:  # atc's place for all operators that it is about
        lines.append("        TraceBack (most recent call last):")
    lines += [f"        {detail}" for detail in error.details]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
