"""tools/bench: rows, backends and what to write, from the command line."""

from __future__ import annotations

import argparse
import sys
import time
from fnmatch import fnmatch
from pathlib import Path

from page_section import PAGES, write_section

from .artefacts import MODELS
from .fleet import Setting
from .gate import NotComparable, broken, changes, check_comparable, confirmed
from .markdown import SECTIONS, table
from .measure import measure
from .quantised_rows import quantised_rows
from .report import change_text, line, summary
from .results import Results, this_machine
from .rows import ROWS, Row
from .stage import Schedule
from .wide_rows import wide_rows

ROOT = Path(__file__).resolve().parents[2]
BASELINE = Path(__file__).with_name("baseline.json")
#: What the gate lets pass: neighbours of a shared machine change a memory-bound ratio by a quarter from one
#: day to the next; a kernel that lost its vectors or a fusion that is gone costs more than a third.
BETWEEN_DAYS = 0.33
#: Small rows that between them use most of the runtime: a minute together.
SAMPLE = "rope,topk_random,rms_norm,gelu,softmax_wide,swiglu_split,linear_gelu_128,attention,mlp,chain"


def count(text: str) -> int:
    """A number from 1 on. Raises argparse.ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"[{text}] is no number from 1 on")
    return int(text)


def parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(prog="tools/bench", description=__doc__)
    add = command.add_argument
    add("--list", action="store_true", help="show the rows and leave")
    table = command.add_mutually_exclusive_group().add_argument
    table("--wide", action="store_true", help="the rows of the wide table: architectures nobody tuned for")
    table("--quantised", action="store_true", help="the rows of the table of 8-bit models")
    add("--only", default="", metavar="ROW,...", help="these rows; patterns like topk* name several")
    add("--rounds", type=count, default=5, help="each in new processes")
    add("--slot", type=float, default=0.15, metavar="SECONDS", help="of each backend in a round")
    add(
        "--patience",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="of waiting for quiet, a row and round",
    )
    add("--threads", type=count, default=2)
    add("--work", type=Path, default=ROOT / "build" / "bench", metavar="DIR", help="where models are kept")
    add("--peers", default=sys.executable, metavar="PYTHON", help="interpreter with onnxruntime and openvino")
    add("--json", type=Path, metavar="FILE", help="write what was measured")
    add("--from", dest="source", type=Path, metavar="FILE", help="measure nothing, take an earlier --json")
    add("--markdown", action="store_true", help="print the table as in the documentation")
    add("--write-docs", action="store_true", help="put the table into docs/benchmarks.md")
    add("--against", type=Path, metavar="FILE", help="fail where a ratio to a peer of --json FILE has fallen")
    add("--margin", type=float, metavar="SHARE", help="a ratio that fell by less is let pass (--gate: 0.33)")
    add(
        "--gate",
        action="store_true",
        help="a sample of small rows against the baseline beside the code",
    )
    return command


def chosen(names: str, rows: tuple[Row, ...]) -> list[Row]:
    """Those of the rows that the names or patterns (`topk*`) fit, or all."""
    if not names:
        return list(rows)
    found: list[Row] = []
    for name in names.split(","):
        matching = [r for r in rows if fnmatch(r.name, name)]
        if not matching:
            sys.exit(f"no row [{name}]; --list shows them")
        found += [r for r in matching if r not in found]
    return found


def backends_of(rows: list[Row]) -> list[str]:
    """Those the rows' goals name, and the others that the rows show."""
    timed = ("ascend_in_ort", "own_bound") if any(r.kind == "run" for r in rows) else ()
    loaded = ("ort",) if any(r.kind in ("load", "session") for r in rows) else ()
    heavy = ("openvino",) if any(r.kind == "memory" for r in rows) else ()
    return list(dict.fromkeys([*(b for r in rows for b in r.backends), *timed, *loaded, *heavy]))


def measure_all(rows: list[Row], given: argparse.Namespace, rounds: int) -> Results:
    """Measures the rows, saving them after each round, and shows them."""
    given.work.mkdir(parents=True, exist_ok=True)
    setting = Setting(given.threads, given.work.resolve(), given.peers)
    settings = {"threads": given.threads, "rounds": rounds, "slot": given.slot}
    results = Results(this_machine(), settings)
    begin = time.monotonic()

    def done(turn: int) -> None:
        print(f"round {turn + 1} of {rounds}: {time.monotonic() - begin:.0f} s", flush=True)
        if given.json:
            results.save(given.json)

    measure(rows, backends_of(rows), setting, Schedule(rounds, given.slot, given.patience), results, done)
    for backend, reason in results.missing.items():
        print(f"{backend}: not measured ({reason})")
    for row in rows:
        print(line(row, results.records[row.name]))
    return results


def compare(rows: list[Row], results: Results, given: argparse.Namespace) -> int:
    """The exit status: 1 when something broke, or a ratio has fallen since the run of --against."""
    try:
        earlier = Results.load(given.against)
        found = changes(rows, earlier, results, given.margin)
    except NotComparable as error:
        print(f"{given.against} can't be compared: {error}")
        return 0
    except (OSError, ValueError) as error:
        print(f"{given.against} can't be read: {error}")
        return 2
    fallen = [c for c in found if c.fallen]
    if fallen and not given.source:
        given.json = None
        print("measuring again:", ", ".join(dict.fromkeys(c.row.name for c in fallen)))
        fallen = confirmed(
            found, earlier, lambda rows: measure_all(rows, given, 2 * given.rounds), given.margin
        )
    wrong = broken(rows, earlier, results)
    for sentence in (*wrong, *map(change_text, fallen)):
        print(sentence)
    print(f"{len(found)} ratios compared, {len(fallen)} have fallen; {len(wrong)} results broke")
    return 1 if fallen or wrong else 0


def main() -> int:
    given = parser().parse_args()
    if given.gate:
        given.against = given.against or BASELINE
        given.only = given.only or SAMPLE
    sys.path.insert(0, str(MODELS))
    kind = "wide" if given.wide else "quantised" if given.quantised else ""
    if given.margin is None:
        given.margin = BETWEEN_DAYS if given.gate else 0.0
    rows = chosen(given.only, wide_rows() if given.wide else quantised_rows() if given.quantised else ROWS)
    if given.list:
        print("\n".join(f"{r.name:20} {r.title}" for r in rows))
        return 0
    if given.gate and not given.source:
        try:
            check_comparable(Results.load(given.against), this_machine(), given.threads)
        except NotComparable as error:
            print(f"nothing is measured: {given.against} can't be compared: {error}")
            return 0
    results = Results.load(given.source) if given.source else measure_all(rows, given, given.rounds)
    rows = [r for r in rows if r.name in results.records]
    print(summary(rows, results))
    if given.markdown:
        print(table(rows, results))
    if given.write_docs:
        write_section(PAGES / "benchmarks.md", *SECTIONS[kind], table(rows, results))
    return compare(rows, results, given) if given.against else 0


if __name__ == "__main__":
    sys.exit(main())
