"""ascend-serve: a folder of bundles as a service. Flags are Triton's where it has them."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.serving.settings import Settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is told to end (SIGTERM, SIGINT) and returns the exit status."""
    given = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        _run(_settings(given))
    except AscendError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ascend-serve", description="Serves bundles of ascend-atc.", allow_abbrev=False
    )
    add = parser.add_argument
    add("--model-repository", type=Path, required=True, metavar="DIR", help="with <model>/<version>/model.om")
    add("--http-address", default="127.0.0.1", metavar="ADDRESS")
    add("--http-port", type=int, default=8000, metavar="PORT", help="0: any free one")
    add("--exit-timeout-secs", type=float, default=30.0, metavar="S", help="for requests in flight")
    return parser


def _settings(given: argparse.Namespace) -> Settings:
    if not given.model_repository.is_dir():
        raise AscendError("E50021", given.model_repository)
    return Settings(
        model_repository=given.model_repository,
        http_address=given.http_address,
        http_port=given.http_port,
        exit_timeout=given.exit_timeout_secs,
    )


def _run(settings: Settings) -> None:
    try:
        from ascend_ep.serving.server import Server
    except ModuleNotFoundError as missing:
        raise AscendError("E50022", missing.name) from None
    new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with contextlib.suppress(ModuleNotFoundError):
        from uvloop import new_event_loop

    async def serve() -> None:
        server = Server(settings)
        await server.run(lambda s: print(f"HTTP on {settings.http_address}:{s.http_port}", flush=True))

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve())


if __name__ == "__main__":
    sys.exit(main())
