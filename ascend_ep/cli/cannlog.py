"""`cannlog --level=ERROR`: what processes logged, by time."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ascend_ep.errors import AscendError


def add_arguments(command: argparse.ArgumentParser) -> None:
    from ascend_ep.cann.log_files import LEVELS

    command.add_argument(
        "--level", type=str.upper, choices=LEVELS, default="ERROR", help="from which on (default: ERROR)"
    )
    command.add_argument("--dir", type=Path, help="default: $ASCEND_PROCESS_LOG_PATH, or $HOME/ascend/log")
    command.add_argument("--pid", type=int, help="of one process")
    command.add_argument("--module", help="of one module: APP, ASCENDCL, ...")
    command.add_argument("--last", type=int, default=0, metavar="N", help="the last N (default: all)")
    command.add_argument("--json", action="store_true", help="print JSON")


def run(given: argparse.Namespace) -> int:
    """Prints the entries, and how many there are by module."""
    from ascend_ep.cann.log_files import log_folder, records

    if given.last < 0:
        raise AscendError("E10001", given.last, "--last", "It is a number of entries.")
    folder = given.dir or log_folder()
    if not given.dir and not folder.exists():
        print("[]" if given.json else f"0 entries: nothing logged to {folder}, or it was told another folder")
        return 0
    found = [
        r
        for r in records(folder, given.level)
        if (given.pid is None or r.pid == given.pid) and (given.module is None or r.module == given.module)
    ]
    shown = found[-given.last :] if given.last else found
    if given.json:
        print(json.dumps([r.as_json() for r in shown], indent=2, ensure_ascii=False))
        return 0
    for record in shown:
        print(record)
    count = f"{len(found)} entr{'y' if len(found) == 1 else 'ies'} from {given.level} on in {folder}"
    print(count + (f", the last {len(shown)} shown" if len(shown) < len(found) else ""))
    return 0
