"""ascend-prof: where the time of models goes, in msprof's files, tables and timelines.

Exit status: that of the command which was run; else 0, or 1 when something is wrong, with the coded error on
stderr.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ascend_ep.cli.command import Parser, command
from ascend_ep.cli.names_of_others import beyond_ascii
from ascend_ep.cli.prof_advise import add_advise
from ascend_ep.cli.prof_collect import collect, model_rates
from ascend_ep.cli.prof_dash import add_profdash
from ascend_ep.cli.prof_gate import add_gate
from ascend_ep.cli.prof_msadvisor import main as msadvisor
from ascend_ep.cli.prof_msprof import main as msprof
from ascend_ep.cli.prof_report import add_report
from ascend_ep.errors import AscendError


@command("ascend-prof")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["msprof"]:
        return msprof(words[1:])
    if words[:1] == ["msadvisor"]:
        return msadvisor(words[1:])
    given = command_parser().parse_args(words)
    return int(given.run(given))


def command_parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = Parser(prog="ascend-prof", description="Where the time of models goes.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_run(commands)
    add_analyze(commands)
    add_export(commands)
    add_report(commands)
    add_profdash(commands)
    add_gate(commands)
    add_advise(commands)
    return parser


def add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "run a command and record every model that runs in it"
    command = commands.add_parser("run", help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("--output", default=".", metavar="DIR", help="where the folder PROF_... is made")
    command.add_argument(
        "--counters", action="store_true", help="count cycles, cache misses, ... of each call, where possible"
    )
    command.add_argument(
        "--storage-limit", type=int, default=0, metavar="MB", help="of a process's trace (default 1024)"
    )
    command.add_argument("--aic-metrics", default="", metavar="GROUP", help="as msprof's")
    command.add_argument("--quiet", action="store_true", help="print no table")
    add_model(command)
    command.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND ...")
    command.set_defaults(run=run)


def add_analyze(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "print where the time went"
    command = commands.add_parser("analyze", help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("folder", metavar="DIR", help="a folder PROF_..., or one that holds some")
    command.add_argument("--json", action="store_true", help="print JSON")
    add_model(command)
    command.set_defaults(run=analyze)


def add_export(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "write msprof's files of a profile again"
    command = commands.add_parser("export", help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("folder", metavar="DIR", help="a folder PROF_..., or one that holds some")
    command.add_argument("--aic-metrics", default="", metavar="GROUP", help="as msprof's")
    command.add_argument(
        "--type",
        choices=("text", "pytorch", "pytorch-db"),
        default="text",
        help="msprof's files, or a folder ..._ascend_pt as the PyTorch profiler for Ascend writes it: with "
        "tables, or with its database",
    )
    add_model(command)
    command.set_defaults(run=export)


def add_model(command: argparse.ArgumentParser) -> None:
    """The flags of the columns that a model of a chip fills."""
    add = command.add_argument
    add("--model-time", action="store_true", help="say what calls take at least on --soc_version, by a model")
    add("--soc_version", default="", metavar="CHIP", help="the chip of --model-time")


def run(given: argparse.Namespace) -> int:
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    if not command:
        raise AscendError("E10004", "application", fix="ascend-prof run --output=DIR -- COMMAND ...")
    limit, rates = given.storage_limit, model_rates(given.model_time, given.soc_version)
    return collect(command, given.output, given.aic_metrics, given.counters, limit, given.quiet, rates)


def analyze(given: argparse.Namespace) -> int:
    from ascend_ep.profiling import tables
    from ascend_ep.profiling.profile import open_profile

    profile = open_profile(given.folder)
    rates = model_rates(given.model_time, given.soc_version)
    text = tables.as_json(profile, rates) if given.json else tables.text(profile, sys.stdout.isatty(), rates)
    print(beyond_ascii(text))
    return 0


def export(given: argparse.Namespace) -> int:
    from ascend_ep.profiling.export import write_files
    from ascend_ep.profiling.metrics import DEFAULT
    from ascend_ep.profiling.profile import open_profile
    from ascend_ep.profiling.torch_files import by_rank, write_torch_files

    rates = model_rates(given.model_time, given.soc_version)
    if rates and given.type != "text":
        raise AscendError("E10001", given.type, "--type", "Only msprof's files have columns model_...")
    if given.aic_metrics and given.type != "text":
        reason = f"--type={given.type} has the columns of PipeUtilization, as the PyTorch profiler."
        raise AscendError("E10001", given.aic_metrics, "--aic-metrics", reason)
    profile = open_profile(given.folder)
    if given.type != "text":
        as_database = given.type == "pytorch-db"
        written = [write_torch_files(part, as_database=as_database) for part in by_rank(profile)]
    else:
        written = write_files(profile, given.aic_metrics or DEFAULT, rates)
    print(*written, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
