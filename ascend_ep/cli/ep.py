"""ascend-ep: the check-up of an installation, what programs for Ascend look for on a machine, and those
programs, run as they are. Exit status 0 when all is well, else 1."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from ascend_ep.cli import build_config, cannlog, completion, converter, npu_smi, toolkit
from ascend_ep.cli.command import Parser, command
from ascend_ep.cli.doctor import examine
from ascend_ep.cli.older_tools import OLDER_TOOLS, run_older_tool
from ascend_ep.cli.run_program import run_program


@command("ascend-ep")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status."""
    given = command_parser().parse_args(arguments)
    status: int = given.run(given)
    return status


def command_parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = Parser(prog="ascend-ep", description="ascend-ep on this machine.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("doctor", help="check Python, libraries, CPU, compiler and folders")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=doctor)
    command = commands.add_parser("config", help="flags and folders for building C and C++ programs")
    build_config.add_arguments(command)
    command.set_defaults(run=build_config.run)
    command = commands.add_parser(
        "run", help="run a program with acl, ais_bench and aclruntime", prefix_chars="\0", add_help=False
    )
    command.add_argument("words", nargs=argparse.REMAINDER)
    command.set_defaults(run=lambda given: run_program(given.words))
    for tool, said in OLDER_TOOLS.items():
        command = commands.add_parser(tool, help=said, prefix_chars="\0", add_help=False)
        command.add_argument("words", nargs=argparse.REMAINDER)
        command.set_defaults(run=lambda given, tool=tool: run_older_tool(tool, given.words))
    command = commands.add_parser("toolkit", help="lay out a folder as a CANN toolkit, for build files")
    toolkit.add_arguments(command)
    command.set_defaults(run=toolkit.run)
    command = commands.add_parser("npu-smi", help="the table of npu-smi, of the simulated devices")
    npu_smi.add_arguments(command)
    command.set_defaults(run=npu_smi.run)
    command = commands.add_parser("cannlog", help="what processes logged, where CANN's users look for it")
    cannlog.add_arguments(command)
    command.set_defaults(run=cannlog.run)
    command = commands.add_parser("converter", help="what libascendcl starts to compile operators and graphs")
    command.set_defaults(run=lambda given: converter.run())
    command = commands.add_parser("completion", help="a script that completes commands and flags in a shell")
    completion.add_arguments(command)
    command.set_defaults(run=lambda given: completion.run(given, parser))
    return parser


def doctor(given: argparse.Namespace) -> int:
    """One line for each check; what is wrong comes with the fix."""
    checks = examine()
    ok = not any(c.state == "wrong" for c in checks)
    if given.json:
        rows: list[dict[str, Any]] = [
            {"name": c.name, "state": c.state, "found": c.found, "fix": c.fix} for c in checks
        ]
        print(json.dumps({"ok": ok, "checks": rows}, indent=2))
        return 0 if ok else 1
    marks = {"good": "ok   ", "note": "note ", "wrong": "WRONG"}
    for check in checks:
        print(f"{marks[check.state]}  {check.name:<20} {check.found}")
        if check.fix and check.state != "good":
            print(f"       {'':<20} -> {check.fix}")
    wrong = [c.name for c in checks if c.state == "wrong"]
    print(f"WRONG: {', '.join(wrong)}" if wrong else "Nothing is wrong.")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
