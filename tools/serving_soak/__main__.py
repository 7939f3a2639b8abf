"""tools/soak: ascend-serve under mixed, partly hostile traffic for a bounded time, every answer checked."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from .record import Record
from .soak import Plan, soak


def main() -> int:
    command = argparse.ArgumentParser(prog="tools/soak", description=__doc__)
    add = command.add_argument
    add("--minutes", type=float, default=Plan.minutes)
    add("--workers", type=int, default=Plan.workers)
    add("--seed", type=int, default=Plan.seed)
    add("--reload-seconds", type=float, default=Plan.reload_seconds, help="about so long between two reloads")
    add("--requests", type=int, default=0, help="so many by another process besides, if --minutes are enough")
    add(
        "--record",
        type=Path,
        help="keeps what came of it; of --requests, those that it tells of are left out",
    )
    given = command.parse_args()
    record = Record(given.record, given.seed)
    requests = max(given.requests - record.answered(), 0)
    if given.requests and not requests:
        print(f"{given.record} tells of {record.answered():,} requests")
        return 0
    plan = Plan(given.minutes, given.workers, given.seed, given.reload_seconds, requests)
    with tempfile.TemporaryDirectory(prefix="ascend-soak-") as work:
        outcome = asyncio.run(soak(plan, Path(work), record))
    record.note(outcome.tally, "all good" if outcome.good else "wrong", outcome.notes)
    print("\n".join([f"{n:9} {name}" for name, n in sorted(outcome.tally.counts.items())]))
    print("\n".join([*outcome.notes, *(f"WRONG: {wrong}" for wrong in outcome.tally.wrongs)]))
    print("all good" if outcome.good else f"{len(outcome.tally.wrongs)} things went wrong")
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main())
