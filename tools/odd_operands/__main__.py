"""Odd operands beside onnxruntime: `tools/fuzz_operands [--only TEXT] [--each N] [--all]`.

ONNX's node cases of several inputs that run natively, their dims all free. In turn each input is longer,
shorter, empty, or, but the first, holds NaN, infinities and whole numbers far beyond the sizes. What we
compute is compared with onnxruntime's CPU provider. A crash, an error without a code, an answer where
onnxruntime refuses, and other numbers are printed once for each operator, input and kind; with --all also
what we refuse and it computes.
Ends with 1 for what tests/differential/odd_operands.txt doesn't list with its reason.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path

import onnxruntime
from onnx_suite.cases import Case, all_cases

from .trial import Finding, trial

TESTS = Path(__file__).resolve().parents[2] / "tests"
KNOWN = TESTS / "differential" / "odd_operands.txt"


def known() -> dict[tuple[str, str], str]:
    """Operator and end to the reason why both are right."""
    lines = KNOWN.read_text(encoding="utf-8").splitlines() if KNOWN.exists() else []
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {(operator, end): reason for operator, end, reason in rows}


def chosen(only: str, each: int) -> list[Case]:
    """Node cases of several inputs that run natively, at most `each` of an operator."""
    native = set((TESTS / "conformance" / "native.txt").read_text(encoding="utf-8").split())
    count: Counter[str] = Counter()
    found = []
    for case in all_cases():
        is_one = case.name in native and case.name.startswith("node/") and only in case.name
        if is_one and not case.operator.endswith("(expanded)") and len(case.load().data[0][0]) > 1:
            count[case.operator] += 1
            if count[case.operator] <= each:
                found.append(case)
    return found


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="tools/fuzz_operands", description=__doc__, formatter_class=raw)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--each", type=int, default=1000, help="at most so many cases of an operator")
    parser.add_argument("--all", action="store_true", help="what we refuse, too")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    onnxruntime.set_default_logger_severity(4)
    cases = chosen(given.only, given.each)
    expected, seen = known(), set[tuple[str, str, str]]()
    tried = wrong = 0
    for case in cases:
        count, found = trial(case)
        tried += count
        for f in found:
            if f.end == "refused" and not given.all:
                continue
            wrong += (f.operator, f.end) not in expected
            key = (f.operator, f.odd, f.end)
            if key not in seen and (f.operator, f.end) not in expected:
                _show(f)
            seen.add(key)
    print(f"{len(cases)} cases, {tried} odd inputs, {wrong} findings")
    return 1 if wrong else 0


def _show(found: Finding) -> None:
    print(f"{found.operator}\t{found.end}\t{found.case}\t{found.odd}\t{found.detail}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
