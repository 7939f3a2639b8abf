"""`profdash --port=8080`: the page of a profile while it is being recorded."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from ascend_ep.errors import AscendError


def add_profdash(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "serve the page of a profile that is being recorded"
    command = commands.add_parser("profdash", help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument(
        "folder", metavar="DIR", nargs="?", default=".", help="that holds PROF_... (default: .)"
    )
    command.add_argument("--port", type=int, default=8080, help="default 8080; 0: a free one")
    command.add_argument("--host", default="127.0.0.1", help="default: this machine alone")
    command.set_defaults(run=profdash)


def profdash(given: argparse.Namespace) -> int:
    """Serves until it is interrupted."""
    from ascend_ep.profiling.dashboard import Dashboard, server
    from ascend_ep.profiling.machine import measure

    if not Path(given.folder).is_dir():
        raise AscendError("E44002", given.folder)
    with server(Dashboard(Path(given.folder), measure()), given.host, given.port) as made:
        host, port = made.server_address[:2]
        print(f"http://{host!s}:{port}", flush=True)
        with suppress(KeyboardInterrupt):
            made.serve_forever()
    return 0
