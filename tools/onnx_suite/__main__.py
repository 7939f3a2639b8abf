"""Runs ONNX's own test-suite on onnxruntime's CPU provider, the own runtime, and AscendEP in onnxruntime.

Writes tests/conformance: the cases that pass, those that are native, and a table by operator. A case is
native when every node ran in kernels of ours, by the runtime's own trace, and at least one did that isn't
the folding of shapes. Formulas are interpreted, not compiled (set ASCEND_EP_CODEGEN=1 to compile).
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import time

from onnx_suite import lists
from onnx_suite.cases import all_cases
from onnx_suite.fleet import Result, run_all
from onnx_suite.runners import OURS, RUNNERS


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/conformance", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the lists instead of writing them")
    parser.add_argument(
        "--only", default="*", help="cases by name, e.g. 'node/test_conv*'; nothing is written"
    )
    parser.add_argument("--runner", choices=RUNNERS, action="append", help="all by default")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    os.environ.setdefault("ASCEND_EP_CODEGEN", "0")
    began = time.monotonic()
    cases = all_cases()
    chosen = [c for c in cases if fnmatch.fnmatch(c.name, arguments.only)]
    runners = arguments.runner or (OURS if arguments.check else RUNNERS)
    results = run_all(chosen, runners, arguments.processes, tell=_progress(len(chosen) * len(runners)))
    print(f"{len(results)} runs in {time.monotonic() - began:.0f} s", file=sys.stderr)
    if arguments.check:
        return _report(lists.losses(results), lists.gains(results))
    whole = arguments.only == "*" and set(runners) == set(RUNNERS)
    if not whole:
        for r in sorted(results, key=lambda r: (r.case, r.runner)):
            print(f"{r.case} {r.runner}: {r.failure or r.host or 'native'}")
        return 0
    lists.write(results, cases)
    print(lists.summary(results))
    return _report(lists.shortfall(results), [])


def _report(wrong: list[str], gained: list[lists.Entry]) -> int:
    for line in wrong:
        print(line)
    if gained:
        print(f"{len(gained)} entries more than the lists say; tools/conformance records them")
    return 1 if wrong else 0


def _progress(total: int):  # type: ignore[no-untyped-def]
    done = 0

    def tell(result: Result) -> None:
        nonlocal done
        done += 1
        if done % 500 == 0:
            print(f"{done} of {total}: {result.case}", file=sys.stderr)

    return tell


if __name__ == "__main__":
    sys.exit(main())
