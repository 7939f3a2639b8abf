"""Windows of load: so many requests at a time, or so many a second, until three windows agree."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ascend_ep.errors import AscendError

from .clients import Client, Connection, Refused, ServerTimes

PERCENTILES = (50, 90, 95, 99)
#: Windows that must be alike.
_ALIKE = 3
#: Requests of one rate that may be under way; more are late.
_MOST_UNDER_WAY = 512


@dataclass(frozen=True)
class Plan:
    """window: seconds of one; spread: the share by which throughput and latency of three windows may differ;
    trials: windows at most; percentile: whose latency counts, the mean's without one; poisson: intervals
    between requests of a rate are drawn, instead of alike."""

    window: float = 5.0
    spread: float = 0.1
    trials: int = 10
    percentile: int | None = None
    poisson: bool = False


@dataclass(frozen=True)
class Window:
    """Latencies in seconds. `busy`: the share of one core that this process used. `late`: requests of a rate
    that couldn't be sent when they were due."""

    seconds: float
    latencies: NDArray[np.float64]
    failures: int
    first_failure: str
    server: ServerTimes
    busy: float
    late: int = 0

    @property
    def throughput(self) -> float:
        return len(self.latencies) / self.seconds

    def latency(self, percentile: int | None) -> float:
        if not len(self.latencies):
            return float("inf")
        if percentile is None:
            return float(self.latencies.mean())
        return float(np.percentile(self.latencies, percentile))


@dataclass
class Measured:
    """What was measured at one concurrency, or rate. `stable`: three windows were alike."""

    value: float
    window: Window
    stable: bool


@dataclass
class _Tally:
    latencies: list[float] = field(default_factory=list)
    failures: int = 0
    first_failure: str = ""
    late: int = 0

    async def send(self, connection: Connection, due: float | None = None) -> None:
        begun = time.perf_counter() if due is None else due
        try:
            await connection.infer()
        except Refused as error:
            self.failures += 1
            self.first_failure = self.first_failure or str(error)
            return
        self.latencies.append(time.perf_counter() - begun)


async def at_concurrency(client: Client, callers: int, plan: Plan) -> Measured:
    """So many connections, each of which sends as soon as it has its answer."""
    connections = [await client.connect() for _ in range(callers)]
    try:

        async def load(tally: _Tally, end: float) -> None:
            async def call(connection: Connection) -> None:
                while time.perf_counter() < end:
                    await tally.send(connection)

            await asyncio.gather(*(call(c) for c in connections))

        return await _until_stable(client, callers, load, plan)
    finally:
        await asyncio.gather(*(c.close() for c in connections))


async def at_rate(client: Client, rate: float, plan: Plan) -> Measured:
    """So many requests a second. A request's latency begins when it is due, sent or not."""
    idle: list[Connection] = []
    made: list[Connection] = []
    random = np.random.default_rng(0)

    async def load(tally: _Tally, end: float) -> None:
        tasks: set[asyncio.Task[None]] = set()
        due = time.perf_counter()
        while due < end:
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            elif wait < -0.001:
                tally.late += 1
            if len(tasks) >= _MOST_UNDER_WAY:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            task = asyncio.create_task(one(tally, due))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            due += float(random.exponential(1 / rate)) if plan.poisson else 1 / rate
        if tasks:
            await asyncio.wait(tasks)

    async def one(tally: _Tally, due: float) -> None:
        connection = idle.pop() if idle else await client.connect()
        if connection not in made:
            made.append(connection)
        await tally.send(connection, due)
        idle.append(connection)

    try:
        return await _until_stable(client, rate, load, plan)
    finally:
        await asyncio.gather(*(c.close() for c in made))


async def _until_stable(
    client: Client, value: float, load: Callable[[_Tally, float], Awaitable[None]], plan: Plan
) -> Measured:
    """The last windows joined once they are alike, or when there were enough of them."""
    windows: list[Window] = []
    await load(_Tally(), time.perf_counter() + min(plan.window, 0.5))  # connections, caches
    for _ in range(plan.trials):
        windows.append(await _window(client, load, plan))
        last = windows[-_ALIKE:]
        if last[-1].failures and not len(last[-1].latencies):
            raise AscendError(
                "E40001", f"every request failed: {last[-1].first_failure}", fix="Check the inputs."
            )
        if (
            len(last) == _ALIKE
            and _alike([w.throughput for w in last], plan)
            and _alike([w.latency(plan.percentile) for w in last], plan)
        ):
            return Measured(value, _joined(last), True)
    return Measured(value, _joined(windows[-_ALIKE:]), False)


async def _window(client: Client, load: Callable[[_Tally, float], Awaitable[None]], plan: Plan) -> Window:
    tally, before = _Tally(), await client.statistics()
    begun, cpu = time.perf_counter(), time.process_time()
    await load(tally, begun + plan.window)
    seconds, used = time.perf_counter() - begun, time.process_time() - cpu
    server = await client.statistics() - before
    taken = np.asarray(tally.latencies)
    return Window(seconds, taken, tally.failures, tally.first_failure, server, used / seconds, tally.late)


def _alike(values: list[float], plan: Plan) -> bool:
    middle = float(np.mean(values))
    return all(abs(v - middle) <= plan.spread * middle for v in values)


def _joined(windows: list[Window]) -> Window:
    zero = ServerTimes(0, 0, 0, 0, 0, 0, 0, 0)
    server = zero
    for window in windows:
        server = server - (zero - window.server)
    return Window(
        sum(w.seconds for w in windows),
        np.concatenate([w.latencies for w in windows]),
        sum(w.failures for w in windows),
        next((w.first_failure for w in windows if w.first_failure), ""),
        server,
        float(np.mean([w.busy for w in windows])),
        sum(w.late for w in windows),
    )
