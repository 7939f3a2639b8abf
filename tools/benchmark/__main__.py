"""tools/bench: rows, backends and what to write, from the command line."""

from __future__ import annotations

import argparse
import json
import sys
from fnmatch import fnmatch
from pathlib import Path

from .artefacts import MODELS, Artefacts
from .fleet import Fleet, Setting
from .measure import Bench, Schedule
from .probe import compile_probe
from .record import Record
from .report import line, summary
from .rows import ROWS, Row

ROOT = Path(__file__).resolve().parents[2]


def chosen(names: str) -> list[Row]:
    """The rows that the names or patterns (`topk*`) fit, or all."""
    if not names:
        return list(ROWS)
    found: list[Row] = []
    for name in names.split(","):
        matching = [r for r in ROWS if fnmatch(r.name, name)]
        if not matching:
            sys.exit(f"no row [{name}]; --list shows them")
        found += [r for r in matching if r not in found]
    return found


def backends_of(rows: list[Row]) -> list[str]:
    """Those the rows' goals name, the others that every timed row shows, and the probe."""
    timed = ("ascend_in_ort", "own_bound") if any(r.kind == "run" for r in rows) else ()
    loaded = ("ort",) if any(r.kind in ("load", "session") for r in rows) else ()
    return list(dict.fromkeys([*(b for r in rows for b in r.backends), *timed, *loaded]))


def parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(prog="tools/bench", description=__doc__)
    command.add_argument("--list", action="store_true", help="show the rows and leave")
    command.add_argument("--only", default="", metavar="ROW,...", help="these rows; topk* names several")
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument("--slot", type=float, default=0.15, help="seconds of each backend in a round")
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--work", type=Path, default=ROOT / "build" / "bench", help="where models are kept")
    command.add_argument(
        "--peers", default=sys.executable, metavar="PYTHON", help="interpreter with onnxruntime and openvino"
    )
    command.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    return command


def main() -> int:
    given = parser().parse_args()
    rows = chosen(given.only)
    if given.list:
        print("\n".join(f"{r.name:20} {r.title}" for r in rows))
        return 0
    sys.path.insert(0, str(MODELS))
    given.work.mkdir(parents=True, exist_ok=True)
    artefacts = Artefacts(given.work)
    setting = Setting(given.threads, given.work, given.peers)
    probe = compile_probe(given.work)
    records: list[Record] = []
    with Fleet(setting, [*backends_of(rows), *(["probe"] if probe else [])]) as fleet:
        for backend, reason in fleet.missing.items():
            print(f"{backend}: not measured ({reason})")
        bench = Bench(artefacts, fleet, Schedule(given.rounds, given.slot), probe)
        for row in rows:
            records.append(bench.measure(row))
            print(line(row, records[-1]), flush=True)
    print(summary(rows, records))
    if given.json:
        found = {"versions": fleet.versions, "rows": [r.as_json() for r in records]}
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
