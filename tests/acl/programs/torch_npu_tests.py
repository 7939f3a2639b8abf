"""Runs files of unittest on npu:0, each test in a process of its own: JSON for each file that comes in.

torch_npu, tools/ and what the files import are on the path, and the environment is that of a toolkit. A file
that uses the device while it is imported has its tests in one process, since a device isn't to be forked.
"""

from __future__ import annotations

import collections
import importlib.util
import json
import os
import re
import signal
import sys
import unittest
from collections.abc import Iterator
from typing import Any

import torch
import torch_npu
import torch_npu.testing.testcase
from case_process import forked

SECONDS = int(os.environ.get("SECONDS_OF_A_TEST", "60"))
#: What torch_npu says of an operator that the library lacks.
LACKING = re.compile(r"\b(aclnn\w+?)(?:GetWorkspaceSize)? (?:or aclnn\w+ )?not (?:in|found)", re.ASCII)


def tests_of(suite: Any) -> Iterator[unittest.TestCase]:
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from tests_of(part)
        else:
            yield part


def one(test: unittest.TestCase) -> dict[str, Any]:
    """passed, skipped or failed, and why."""
    result = unittest.TestResult()
    test.run(result)
    torch.npu.synchronize()
    for kind, found in (("skipped", result.skipped), ("failed", [*result.failures, *result.errors])):
        if found:
            return {"result": kind, "why": found[0][1][-2000:]}
    return {"result": "passed", "why": ""}


def apart(test: unittest.TestCase) -> dict[str, Any]:
    def timed() -> dict[str, Any]:
        signal.alarm(SECONDS)  # ends the process, whatever it waits for
        return one(test)

    made = forked(timed, SECONDS)
    return made if isinstance(made, dict) else {"result": "failed", "why": made}


def file(path: str) -> dict[str, Any]:
    folder = os.path.dirname(os.path.abspath(path))
    os.chdir(folder)
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("tests_of_" + os.path.basename(path)[:-3], path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found = list(tests_of(unittest.defaultTestLoader.loadTestsFromModule(module)))
    runs = one if torch_npu.npu.is_initialized() else apart
    rows = {test.id().partition(".")[2]: runs(test) for test in found[: int(os.environ.get("TESTS", "1000"))]}
    counts = collections.Counter(row["result"] for row in rows.values())
    failed = {
        name: " ".join(row["why"].strip().splitlines()[-1:])
        for name, row in rows.items()
        if row["result"] == "failed"
    }
    lacking = sorted({n for row in rows.values() for n in LACKING.findall(row["why"])})
    skipped = collections.Counter(row["why"][:100] for row in rows.values() if row["result"] == "skipped")
    result = "failed" if failed else "passed" if counts["passed"] else "skipped"
    return {"result": result, "counts": counts, "failed": failed, "lacking": lacking, "skipped": skipped}


def file_or_reason(path: str) -> dict[str, Any]:
    try:
        return file(path)
    except Exception as error:  # of its imports
        return {
            "result": "failed",
            "counts": {"failed": 1},
            "failed": {"": f"{type(error).__name__}: {error}"},
        }


def main() -> None:
    for line in sys.stdin:
        path = line.strip()
        made = forked(lambda path=path: file_or_reason(path), 3600)  # type: ignore[misc]
        row = (
            made
            if isinstance(made, dict)
            else {"result": "failed", "counts": {"failed": 1}, "failed": {"": made}}
        )
        print(json.dumps({"name": path, **row}), flush=True)


if __name__ == "__main__":
    main()
