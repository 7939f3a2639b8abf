"""tools/bench_serving: which servers, how long, and what to write, from the command line."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmark.results import this_machine
from page_section import PAGES, write_section

from .cases import prepare
from .measure import check_answers, measure
from .report import END, START, Results, errors, lines, table, verdicts
from .servers import SERVERS, Running, python_of, version

ROOT = Path(__file__).resolve().parents[2]


def parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(prog="tools/bench_serving", description=__doc__)
    add = command.add_argument
    add("--only", default="", metavar="SERVER,...", help=f"of {', '.join(s.name for s in SERVERS)}")
    add("--rounds", type=int, default=7)
    add("--seconds", type=float, default=2.0, help="of each slot")
    add("--connections", type=int, default=16)
    add("--work", type=Path, default=ROOT / "build" / "bench_serving", metavar="DIR")
    add(
        "--environments",
        type=Path,
        default=ROOT,
        metavar="DIR",
        help="where .venv-serving-* are",
    )
    add("--json", type=Path, metavar="FILE", help="write what was measured")
    add("--from", dest="source", type=Path, metavar="FILE", help="measure nothing, take an earlier --json")
    add("--write-docs", action="store_true", help="put the table into docs/serving.md")
    add("--check", action="store_true", help="status 1 when a goal isn't reached")
    return command


def run(given: argparse.Namespace) -> Results:
    """Starts the servers that are installed and measures them."""
    given.work.mkdir(parents=True, exist_ok=True)
    names = given.only.split(",") if given.only else [s.name for s in SERVERS]
    if unknown := set(names) - {s.name for s in SERVERS}:
        sys.exit(f"no server [{', '.join(unknown)}]")
    settings = {"rounds": given.rounds, "seconds": given.seconds, "connections": given.connections}
    results = Results(this_machine(), settings, {})
    served = prepare(given.work)
    with ExitStack() as stack:
        running = []
        for server in (s for s in SERVERS if s.name in names):
            found = version(server, given.environments)
            if server.environment and not found:
                print(f"{server.title}: not measured, it isn't installed")
                continue
            results.versions[server.distribution] = found
            python = python_of(server, given.environments)
            running.append(stack.enter_context(Running(server, python, served, given.work)))
        check_answers(running, served)
        results.slots = measure(running, served, given.rounds, given.seconds, given.connections, given.work)
        results.settings["load"] = os.getloadavg()[0]
    return results


def main() -> int:
    given = parser().parse_args()
    if not given.source and not shutil.which("wrk"):
        sys.exit("wrk is missing; Debian and Ubuntu have it: apt-get install wrk")
    results = Results.load(given.source) if given.source else run(given)
    print("\n".join(lines(results)))
    if given.json:
        results.save(given.json)
    if given.write_docs:
        write_section(PAGES / "serving.md", START, END, table(results))
    missed = given.check and any(not v.reached for v in verdicts(results))
    return 1 if missed or errors(results) else 0


if __name__ == "__main__":
    sys.exit(main())
