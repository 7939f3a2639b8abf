"""The run: servers up, traffic on, watch, and the end."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .ending import end_under_load
from .grpc_traffic import GrpcClient
from .malformed import misbehave
from .models import Asked, make_repository, questions
from .record import Record
from .reloads import can_reload, reload_models
from .server import Server
from .tally import ENOUGH, Tally
from .valid import converse
from .volume import Volume, exchanges
from .watch import Watch, open_files

#: Of the workers' turns, what goes wrong on purpose.
MALFORMED = 0.7
#: Seconds of traffic before the files of the idle server are counted: what is opened once is open then.
WARM = 2.0
#: Seconds of a run whose memory is judged: before, the allocator is still finding its size.
LONG_ENOUGH = 60.0


@dataclass(frozen=True)
class Plan:
    """minutes of traffic by so many workers; reload_seconds: about so long between two reloads; requests: so
    many by another process besides, with which the traffic ends, if the minutes don't before."""

    minutes: float = 30.0
    workers: int = 8
    seed: int = 0
    reload_seconds: float = 5.0
    requests: int = 0


@dataclass
class Outcome:
    """notes: what was left out, and measures."""

    tally: Tally
    notes: list[str]

    @property
    def good(self) -> bool:
        return not self.tally.wrongs


async def soak(plan: Plan, work: Path, record: Record | None = None) -> Outcome:
    """Notes in the record how far it is. Raises RuntimeError when the server doesn't start."""
    tally, notes = Tally(), [f"seed {plan.seed}"]
    root = work / "models"
    make_repository(root)
    asked = questions(root, plan.seed)
    server = Server(root, work / "server.log", "--model-control-mode=explicit", "--load-model=*")
    try:
        port = server.ports["HTTP"]
        grpc = _grpc_client(server, notes)
        reloads = await can_reload(port)
        if not reloads:
            notes.append("no repository API: no reloads")
        await _traffic(server, grpc, asked, plan, _for(WARM), tally)
        known = await exchanges(port, asked, tally) if plan.requests else []
        idle = await _idle_files(server)
        watch = Watch(server.process.pid)
        side = [asyncio.create_task(watch.run(max(0.1, plan.minutes * 60 / 600)))]
        side.append(asyncio.create_task(tally.watch_clock()))
        if reloads:
            choice = random.Random(plan.seed + 1)
            side.append(asyncio.create_task(reload_models(port, root, choice, plan.reload_seconds, tally)))
        if plan.requests:
            volume = Volume(port, known, plan.seed, plan.requests, plan.minutes * 60)
            await _traffic(server, grpc, asked, plan, lambda: _goes_on(volume, tally, record), tally)
            volume.stop()
        else:
            await _traffic(server, grpc, asked, plan, _for(plan.minutes * 60), tally)
        await _end(side)
        if server.alive:
            _judge(watch, idle, await _idle_files(server), tally, notes)
            if grpc is not None:
                await grpc.close()
            seconds = await end_under_load(server, asked, plan.workers, random.Random(plan.seed), tally)
            notes.append(f"gone {seconds:.1f} s after SIGTERM under load")
        else:
            tally.wrong(f"the server ended by itself: {server.tail(20)}")
    finally:
        if server.alive:
            server.process.kill()
    return Outcome(tally, notes)


def _goes_on(volume: Volume, tally: Tally, record: Record | None) -> bool:
    if record is not None:
        record.note(tally)
    return volume.more(tally)


def _for(seconds: float) -> Callable[[], bool]:
    """Whether there is more to do."""
    until = time.monotonic() + seconds
    return lambda: time.monotonic() < until


async def _traffic(
    server: Server,
    grpc: GrpcClient | None,
    asked: list[Asked],
    plan: Plan,
    more: Callable[[], bool],
    tally: Tally,
) -> None:
    port = server.ports["HTTP"]

    async def work(number: int) -> None:
        choice = random.Random(f"{plan.seed} {number}")
        while more() and server.alive and len(tally.wrongs) < ENOUGH:
            turn = choice.random()
            if turn < MALFORMED:
                await misbehave(port, asked, choice, tally)
            elif grpc is not None and turn < (1 + MALFORMED) / 2:
                await grpc.converse(asked, choice, tally)
            else:
                await converse(port, asked, choice, tally)

    done = await asyncio.gather(*(work(i) for i in range(plan.workers)), return_exceptions=True)
    for failure in done:
        if isinstance(failure, Exception):
            tally.wrong(f"a worker: {failure!r}")


def _grpc_client(server: Server, notes: list[str]) -> GrpcClient | None:
    name = next((name for name in server.ports if name.lower() == "grpc"), None)
    if name is not None:
        with contextlib.suppress(ImportError):
            return GrpcClient(server.ports[name])
    notes.append("no gRPC: HTTP alone")
    return None


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    """Cancels them; again where Python 3.11 loses that for an answer that comes at the same time."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=1)


async def _idle_files(server: Server) -> int:
    """Open files once the clients have gone; sockets are given back a moment later."""
    least = open_files(server.process.pid)
    for _ in range(20):
        await asyncio.sleep(0.1)
        least = min(least, open_files(server.process.pid))
    return least


def _judge(watch: Watch, before: int, after: int, tally: Tally, notes: list[str]) -> None:
    growth, bound = watch.growth()
    first, last = (watch.memory[i][1] / (1 << 20) for i in (0, -1))
    notes.append(
        f"memory {first:.0f} -> {last:.0f} MiB, {growth:+.1f} in the second half (at most {bound:.1f})"
    )
    notes.append(f"open files {before} -> {after}")
    if growth > bound and watch.memory[-1][0] >= LONG_ENOUGH:
        tally.wrong(f"memory grew by {growth:.1f} MiB in the second half; {bound:.1f} are let pass")
    if after > before + 2:
        tally.wrong(f"{before} files were open, {after} are")
