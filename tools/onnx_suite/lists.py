"""The checked-in lists of cases: what passes on onnxruntime's CPU provider, what in ours, what is native.

One case a line, sorted: `node/test_abs` for both of our runners, `node/test_abs own` for one of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from onnx_suite.cases import Case
from onnx_suite.fleet import Result
from onnx_suite.runners import OURS

FOLDER = Path(__file__).resolve().parent.parent.parent / "tests" / "conformance"
MARK, PASSING, NATIVE, TABLE = "onnxruntime.txt", "passing.txt", "native.txt", "operators.md"

#: (case, runner)
Entry = tuple[str, str]


def entries(results: Iterable[Result], holds: Callable[[Result], bool]) -> set[Entry]:
    """The cases and runners of ours for which something holds."""
    return {(r.case, r.runner) for r in results if r.runner in OURS and holds(r)}


def mark(results: Iterable[Result]) -> set[str]:
    """The cases that onnxruntime's CPU provider passes."""
    return {r.case for r in results if r.runner == "onnxruntime" and r.passed}


def write(results: Sequence[Result], cases: Sequence[Case], folder: Path = FOLDER) -> None:
    """Writes all lists and the table by operator."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text("".join(f"{c}\n" for c in sorted(mark(results))))
    (folder / PASSING).write_text(_text(entries(results, lambda r: r.passed)))
    (folder / NATIVE).write_text(_text(entries(results, lambda r: r.native)))
    (folder / TABLE).write_text(table(results, cases))


def read(name: str, folder: Path = FOLDER) -> set[Entry]:
    """The entries of a list."""
    found: set[Entry] = set()
    for line in (folder / name).read_text().splitlines():
        case, _, runner = line.partition(" ")
        found |= {(case, runner)} if runner else {(case, r) for r in OURS}
    return found


def losses(results: Sequence[Result], folder: Path = FOLDER) -> list[str]:
    """What the lists say and these results don't: a sentence each. Cases that weren't run are left out."""
    ran = {(r.case, r.runner): r for r in results}
    said = []
    for case, runner in sorted(read(PASSING, folder) & set(ran)):
        if not ran[case, runner].passed:
            said.append(f"{case} fails in {runner}: {ran[case, runner].failure}")
    for case, runner in sorted(read(NATIVE, folder) & set(ran)):
        if ran[case, runner].passed and not ran[case, runner].native:
            said.append(f"{case} isn't native in {runner}: {ran[case, runner].host}")
    return said


def gains(results: Sequence[Result], folder: Path = FOLDER) -> list[Entry]:
    """What passes or is native beyond the lists."""
    passing = entries(results, lambda r: r.passed) - read(PASSING, folder)
    return sorted(passing | (entries(results, lambda r: r.native) - read(NATIVE, folder)))


def shortfall(results: Sequence[Result]) -> list[str]:
    """Cases that onnxruntime's CPU provider passes and a runner of ours doesn't: a sentence each."""
    wanted = mark(results)
    wrong = [r for r in results if r.runner in OURS and r.case in wanted and not r.passed]
    return [
        f"{r.case} fails in {r.runner}: {r.failure}" for r in sorted(wrong, key=lambda r: (r.case, r.runner))
    ]


def summary(results: Sequence[Result]) -> str:
    """A line per runner: how many cases pass and are native, of those that onnxruntime passes."""
    wanted = mark(results)
    node = {c for c in wanted if c.startswith("node/")}
    lines = []
    for runner in OURS:
        mine = [r for r in results if r.runner == runner]
        passed = sum(r.passed and r.case in wanted for r in mine)
        native = sum(r.native and r.case in node for r in mine)
        share = 100 * native / max(len(node), 1)
        lines.append(
            f"{runner}: {passed} of the {len(wanted)} cases that onnxruntime passes; native {native} of the "
            f"{len(node)} node cases ({share:.1f} %); {sum(r.passed for r in mine)} of all {len(mine)}"
        )
    return "\n".join(lines)


def table(results: Sequence[Result], cases: Sequence[Case]) -> str:
    """By operator: the cases that onnxruntime passes, those that are native, and why others aren't."""
    wanted = mark(results)
    groups: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        if case.name in wanted:
            groups[case.operator or case.name.partition("/")[0]].append(case.name)
    native = entries(results, lambda r: r.native)
    reasons: Mapping[str, str] = {r.case: r.failure or r.host for r in results if r.runner == "own"}
    head = [
        "| operator | cases | native | in onnxruntime | why others aren't |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    rows = []
    for operator, names in sorted(groups.items()):
        counts = [sum((n, runner) in native for n in names) for runner in OURS]
        why = dict.fromkeys(_short(reasons.get(n, "")) for n in names if (n, "own") not in native)
        cells = [operator, str(len(names)), *map(str, counts), "; ".join(why)]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([summary(results).replace("\n", "\n\n"), "", *head, *rows, ""])


def _short(reason: str) -> str:
    """The first of the reasons of a case, without names of values."""
    first = " ".join(reason.split()).partition("; ")[0]
    words = ["…" if w.startswith("'") else w for w in first.split(" ")]
    return " ".join(words)[:120]


def _text(found: set[Entry]) -> str:
    runners: dict[str, list[str]] = defaultdict(list)
    for case, runner in sorted(found):
        runners[case].append(runner)
    lines = (c if set(r) == set(OURS) else f"{c} {r[0]}" for c, r in sorted(runners.items()))
    return "".join(f"{line}\n" for line in lines)
