"""ascend-serve: a folder of bundles as a service."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ascend_ep.cann.log_files import LogFiles
from ascend_ep.errors import AscendError
from ascend_ep.serving.logs.setup import set_up
from ascend_ep.serving.settings import Settings

from .command import command
from .serve_arguments import parse

log = logging.getLogger("ascend_ep.serving")


@command("ascend-serve")
def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until SIGTERM or SIGINT. Returns 0; 1 when it can't serve; 2 for wrong flags."""
    try:
        given = parse(arguments)
        set_up(given.settings.log_level, given.settings.log_format, given.settings.log_file)
    except AscendError as error:
        print(error, file=sys.stderr)
        return 2
    own = logging.getLogger("ascend_ep")
    if not any(isinstance(handler, LogFiles) for handler in own.handlers):
        own.addHandler(LogFiles("SERVE"))
    for note in given.notes:
        log.warning("%s", note)
    try:
        _run(given.settings, given.check)
    except AscendError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _run(settings: Settings, check: bool) -> None:
    try:
        from ascend_ep.serving.repository.memory import bound_heaps
        from ascend_ep.serving.server import Server
    except ModuleNotFoundError as missing:
        raise AscendError("E50022", missing.name) from None
    bound_heaps()
    new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    if not check:  # libuv ends the process where it can't watch a descriptor
        with contextlib.suppress(ModuleNotFoundError):
            from uvloop import new_event_loop

    async def serve() -> None:
        await Server(settings, export_profile).run(
            lambda server: print(*server.addresses, sep="\n", flush=True)
        )

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_check(settings) if check else serve())


def export_profile(folder: Path) -> bool:
    """Writes msprof's files of a request's profile; False when nothing was recorded. Raises AscendError."""
    from ascend_ep.profiling.export import write_files
    from ascend_ep.profiling.metrics import DEFAULT
    from ascend_ep.profiling.profile import open_profile

    profile = open_profile(folder)
    if not any(len(process.runs) or process.spans for process in profile.processes):
        return False
    write_files(profile, DEFAULT)
    return True


async def _check(settings: Settings) -> None:
    """Loads every model, prints a line for each version, and gives them up. Raises AscendError as loading
    does."""
    from ascend_ep.serving.repository.repository import Repository

    repository = Repository(settings)
    await repository.load_all()
    for model in repository.models.values():
        for number, version in sorted(model.versions.items()):
            takes = ", ".join(f"{t.name} {t.datatype}{t.shape}" for t in version.signature.inputs)
            gives = ", ".join(f"{t.name} {t.datatype}{t.shape}" for t in version.signature.outputs)
            print(f"{model.name} {number}: {takes} -> {gives}, {version.execution.seconds * 1e3:.3f} ms")
            if version.unused_bundle:
                print(f"{model.name} {number}: {version.unused_bundle}")
    await repository.close()


if __name__ == "__main__":
    sys.exit(main())
