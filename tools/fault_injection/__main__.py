"""Failure of every allocation and every system call in turn: `tools/faults [--quick]`.

A C program opens, binds and runs bundles: each allocation and each call fails once, then all from there on.
Conversion, the own session, onnxruntime, the server and commands: each system call, each allocation of our
libraries. Whatever replaces files: the power fails before each call that writes, and what isn't on the disk
is lost. Nothing may crash, hang, leak, compute something else, or leave a file that is half written. --quick
tries a sample of what is in Python. Prints a line for each sweep, and what was found; ends with 1 then.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import bundles, commands, native, python
from .outcome import Campaign, total

#: Names of scenarios as those of folders.
PLAIN = str.maketrans(" =/", "---")


def campaigns(folder: Path, every: int) -> Iterator[Campaign]:
    library, program = native.build(folder)
    for name, arguments in bundles.write(folder).items():
        command = [str(program), *arguments]
        for on in (False, True):
            yield native.sweep(name, folder, command, "alloc", on=on)
            for kind in native.CALL_KINDS:
                yield native.sweep(name, folder, command, "calls", kind, on=on and kind != "EINTR")
    yield from python.power(library, folder / "power")
    for scenario in (*python.SCENARIOS, *commands.COMMANDS):
        for what, kind, on in python.KINDS:
            own = folder / f"{scenario.translate(PLAIN)}-{what}-{kind}-{on}"
            yield python.sweep(library, own, scenario, what, kind, every, on=on)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/faults", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    every = 7 if parser.parse_args().quick else 1
    done = []
    with tempfile.TemporaryDirectory() as folder:
        for campaign in campaigns(Path(folder), every):
            print(campaign.line(), flush=True)
            for each in campaign.findings():
                print(f"  call {each.at}: {each.end}: {each.detail}")
            done.append(campaign)
    found = sum(len(c.findings()) for c in done)
    print(f"{total(done)} failures in {len(done)} sweeps: {found} broke a promise")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
