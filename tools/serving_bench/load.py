"""The load: wrk posts one request over and over on keep-alive connections, each waiting for its answer."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from .forms import Request

SCRIPT = Path(__file__).with_name("wrk.lua")


@dataclass(frozen=True)
class Slot:
    """What came of one slot: answers a second, latencies in seconds, answers that were no success, the share
    of a core that wrk itself used (near 1, it is wrk that was measured), and the seconds of processor time
    that the server spent on an answer (which others on the machine change least)."""

    rate: float
    p50: float
    p99: float
    errors: int
    generator: float
    cpu: float

    def as_json(self) -> dict[str, float]:
        return asdict(self)


def load(
    url: str, request: Request, seconds: float, connections: int, work: Path, server_cpu: Callable[[], float]
) -> Slot:
    """Loads a server for so long; `server_cpu` tells the processor time it has used. Raises RuntimeError when
    wrk fails."""
    body, headers = work / "request.body", work / "request.headers"
    body.write_bytes(request.body)
    headers.write_text("".join(f"{name}: {value}\n" for name, value in request.headers.items()))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "-s", str(SCRIPT)]
    before, cpu, start = _children(), server_cpu(), time.perf_counter()
    done = subprocess.run(
        [*command, url + request.path],
        env={**os.environ, "BODY": str(body), "HEADERS": str(headers)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"^measured (.*)$", done.stdout, re.MULTILINE)
    if done.returncode or not found:
        raise RuntimeError(f"wrk: {(done.stderr or done.stdout).strip()}")
    busy = (_children() - before) / (time.perf_counter() - start)
    requests, micros, p50, p99, errors = map(float, found[1].split())
    spent = (server_cpu() - cpu) / max(requests, 1)
    return Slot(requests / micros * 1e6, p50 / 1e6, p99 / 1e6, int(errors), busy, spent)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
