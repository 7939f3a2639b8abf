"""msprof.py of a toolkit's tools/profiler: what scripts run instead of `msprof --export=on` and its like.

By its being there torch_npu's profiler knows that msprof is complete.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ascend_ep.cli.command import Parser, command
from ascend_ep.errors import AscendError

#: Its commands as switches of msprof.
SWITCHES = {"import": "parse", "export": "export", "query": "query", "analyze": "analyze"}
#: What is exported; tables and timelines come together.
KINDS = ("summary", "timeline", "db")


@command("msprof.py")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status."""
    from ascend_ep.cli.prof_msprof import main as msprof

    parser = Parser(prog="msprof.py", description="Tables and timelines of a profile.")
    commands = parser.add_subparsers(required=True, dest="command", metavar="COMMAND")
    for name in SWITCHES:
        made = commands.add_parser(name)
        if name == "export":
            made.add_argument("kind", choices=KINDS)
            made.add_argument("--format", dest="summary_format", help="of tables; without effect")
            made.add_argument("--iteration-id", help="without effect")
            made.add_argument("--model-id", help="without effect")
        made.add_argument("-dir", "--collection-dir", required=True, metavar="DIR", help="a folder PROF_...")
    given = parser.parse_args(arguments)
    words = [f"--{SWITCHES[given.command]}=on", f"--output={given.collection_dir}"]
    if given.command == "export":
        words += ["--type=db"] if given.kind == "db" else []
        idle = {name: getattr(given, name) for name in ("summary_format", "iteration_id", "model_id")}
        words += [f"--{name.replace('_', '-')}={value}" for name, value in idle.items() if value]
    try:
        return msprof(words)
    except AscendError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
