"""Failure of every allocation and every system call in turn:
`tools/faults [--quick] [--only EXPRESSION] [--every N]`.

A C program opens, binds and runs bundles: each allocation and each call fails once, then all from there on.
Conversion, the own session, onnxruntime, the server and commands: each system call, each allocation of our
libraries. Whatever replaces files: the power fails before each call that writes, and what isn't on the disk
is lost. Nothing may crash, hang, leak, compute something else, or leave a file that is half written. --quick
tries a sample of what is in Python, --every N each N-th failure there. --only tries the sweeps whose names
match an expression. Prints a line for each sweep, and what was found; ends with 1 then.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import bundles, commands, native, python
from .outcome import Campaign, title, total

#: Names of scenarios as those of folders.
PLAIN = str.maketrans(" =/", "---")


def campaigns(folder: Path, only: str, every: int) -> Iterator[Campaign]:
    library, program = native.build(folder)
    for name, arguments in bundles.write(folder).items():
        command = [str(program), *arguments]
        for what, kind in (("alloc", "EIO"), *(("calls", kind) for kind in native.CALL_KINDS)):
            for on in (False, True) if kind != "EINTR" else (False,):
                if re.search(only, title(name, what, kind, on)):
                    yield native.sweep(name, folder, command, what, kind, on=on)
    if re.search(only, "the power"):
        yield from python.power(library, folder / "power")
    for scenario in (*python.SCENARIOS, *commands.COMMANDS):
        for what, kind, on in python.KINDS:
            if re.search(only, title(scenario, what, kind, on)):
                own = folder / f"{scenario.translate(PLAIN)}-{what}-{kind}-{on}"
                yield python.sweep(library, own, scenario, what, kind, every, on=on)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/faults", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", metavar="EXPRESSION")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    given = parser.parse_args()
    if given.every < 1:
        parser.error("--every takes a number from 1 on")
    try:
        re.compile(given.only)
    except re.error as error:
        parser.error(f"--only is no regular expression: {error}")
    every = 7 if given.quick else given.every
    done = []
    with tempfile.TemporaryDirectory() as folder:
        for campaign in campaigns(Path(folder), given.only, every):
            print(campaign.line(), flush=True)
            for each in campaign.findings():
                print(f"  call {each.at}: {each.end}: {each.detail}", flush=True)
            done.append(campaign)
    if not done:
        parser.error(f"the name of no sweep matches {given.only}")
    found = sum(len(c.findings()) for c in done)
    print(f"{total(done)} failures in {len(done)} sweeps: {found} broke a promise")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
