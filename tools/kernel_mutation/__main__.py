"""Plants one mistake at a time in Ascend C kernels that are right, runs each, and prints what names it.

A kernel is given as `ascend-op run` takes it, with the flags of its call; without one, those in
tools/kernel_mutation/kernels are taken, whose first line has the flags. Mistakes are planted in the headers
of its project, too. With --formula or --golden, outputs are held to these instead of to those of the kernel
as it stands. 1 is the status if the kernel as it stands has a fault or other values, or if a broken rule is
not named.
"""

from __future__ import annotations

import argparse
import random
import re
import shlex
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from ascend_ep.cli.op_run import add_kernel_arguments, expected_outputs, kernel_request
from ascend_ep.opbuild.kernels.arrays import Array
from ascend_ep.opbuild.kernels.run_kernel import RunRequest
from ascend_ep.opbuild.kernels.sources import read_sources

from .batch import compiled, is_noted, noting
from .judge import Expected, Judged, Outcome, judged
from .mistakes import KINDS, Mistake, mistakes
from .whole_text import whole_text

OWN = Path(__file__).with_name("kernels")


def main() -> int:
    """Runs the command line."""
    parser = _parser()
    given = parser.parse_args()
    if given.files:
        calls = [given]
    else:
        calls = [
            parser.parse_args([str(p), *flags_of(p)], argparse.Namespace(**vars(given)))
            for p in sorted(OWN.glob("*.cpp"))
        ]
    found = [row for call in calls for row in planted(call)]
    print(_table(found))
    return int(any(row.is_missed for row in found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tools/kernel_mutants", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("files", nargs="*", help="a kernel's source, or a project's folder")
    add("--input_shape", default="")
    add("--dtype", action="append")
    add("--op_type", default="")
    add("--attr", action="append", default=[])
    add("--soc_version", default="")
    add("--most", type=int, default=2, help="mistakes of a class in a kernel, at most (default: 2)")
    add("--only", default="", help="classes whose name this pattern is found in")
    add("--verbose", action="store_true", help="a line for each mistake")
    add_kernel_arguments(parser.add_argument_group("the kernel"))
    return parser


def flags_of(path: Path) -> list[str]:
    """The flags of a kernel's call, which its first line has."""
    return shlex.split(path.read_text(encoding="utf-8").splitlines()[0].partition("run:")[2])


def planted(given: argparse.Namespace) -> list[Judged]:
    """Every mistake of one kernel, run and judged. Raises SystemExit where the kernel itself has a fault."""
    request, golden = kernel_request(given, given.files)
    kernel, _, _ = read_sources(request.sources, given.kernel, request.soc)
    whole = whole_text(kernel.file, request.sources.folders)
    text = whole.text
    chosen = _chosen(text, given)
    with tempfile.NamedTemporaryFile("w", suffix=".cpp", prefix=".planted-", dir=kernel.file.parent) as file:
        batch = compiled(kernel, request, [text, *(m.text for m in chosen), noting(text)], Path(file.name))
        right = batch.run(0, strict=False)
        for answer in (right, batch.run(0, strict=True)):
            if isinstance(answer, str) or answer.failed:
                said = answer if isinstance(answer, str) else answer.lines
                raise SystemExit(f"{kernel.file}: as it stands: {said}")
        assert not isinstance(right, str)
        expected = _expected(given, request, batch.inputs, golden)
        if expected and (refusal := expected.refusal(right)):
            raise SystemExit(f"{kernel.file}: as it stands: {refusal}")
        noted = len(chosen) + 1
        reached = batch.reached(noted) if noted not in batch.refused else None
        lines = text.splitlines()
        rows = [
            judged(m, batch.run(i, m.strict), right, _is_reached(m, lines, reached), expected)
            for i, m in enumerate(chosen, 1)
            if i not in batch.refused
        ]
    for row in rows:
        if given.verbose or row.is_missed or row.outcome in ("elsewhere", "unseen"):
            m = row.mistake
            source, line = whole.places[m.line - 1]
            print(f"{row.outcome:9} {source.name}:{line} {m.kind}: {m.was} -> {m.now}", flush=True)
            print(f"          {row.said[:300]}" if row.said else "", flush=True)
    return rows


def _expected(
    given: argparse.Namespace, request: RunRequest, inputs: Sequence[str], golden: Sequence[Array]
) -> Expected | None:
    """What --formula or --golden says of the outputs."""
    outputs = expected_outputs(given, request, inputs, golden)
    return Expected(outputs, "the formula" if given.formula else "the golden file") if outputs else None


def _is_reached(mistake: Mistake, lines: Sequence[str], reached: frozenset[int] | None) -> bool:
    """False where the call is known not to get to its line."""
    return reached is None or not is_noted(lines[mistake.line - 1]) or mistake.line in reached


def _chosen(text: str, given: argparse.Namespace) -> list[Mistake]:
    by_kind: defaultdict[str, list[Mistake]] = defaultdict(list)
    for m in mistakes(text):
        if re.search(given.only, m.kind):
            by_kind[m.kind].append(m)
    source = random.Random(given.seed)
    return [m for rows in by_kind.values() for m in _some(rows, given.most, source)]


def _some(rows: Sequence[Mistake], most: int, source: random.Random) -> list[Mistake]:
    chosen = source.sample(range(len(rows)), min(most, len(rows)))
    return [rows[i] for i in sorted(chosen)]


def _table(rows: Sequence[Judged]) -> str:
    outcomes: tuple[Outcome, ...] = get_args(Outcome)
    lines = ["| class | mistakes | " + " | ".join(outcomes) + " |", "|---" * (len(outcomes) + 2) + "|"]
    for kind in KINDS:
        counts = Counter(row.outcome for row in rows if row.mistake.kind == kind.name)
        if counts:
            cells = [str(counts[o] or "") for o in outcomes]
            lines.append(f"| {kind.name} | {counts.total()} | " + " | ".join(cells) + " |")
    counts = Counter(row.outcome for row in rows)
    cells = [str(counts[o]) for o in outcomes]
    return "\n".join([*lines, f"| all | {counts.total()} | " + " | ".join(cells) + " |"])


if __name__ == "__main__":
    sys.exit(main())
