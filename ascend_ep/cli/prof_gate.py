"""`ascend-prof gate`: a bundle against the one before it, for CI. Exit status 1 when it is worse."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from ascend_ep import regular_file
from ascend_ep.cli.atc_files import check_target, write_renamed
from ascend_ep.cli.command import refuse_unused, seed
from ascend_ep.errors import AscendError

#: Flags of a comparison.
COMPARING = (
    *("baseline", "max_slowdown", "max_error", "seconds", "clock", "dim", "seed"),
    *("markdown", "junit", "json"),
)


def add_gate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "compare speed and results of a bundle with the one before; exit status 1 when it is worse"
    command = commands.add_parser("gate", help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("bundle", metavar="M.om")
    command.add_argument("--baseline", metavar="B.json", help="as --record wrote it, or a bundle")
    command.add_argument(
        "--record", metavar="B.json", help="keep the bundle as the baseline; compare nothing"
    )
    command.add_argument("--max-slowdown", default="5%", metavar="SHARE", help="that is found (default 5%%)")
    command.add_argument(
        "--max-error", type=float, default=1e-3, help="relative to an output's largest value"
    )
    command.add_argument(
        "--seconds",
        type=float,
        default=20.0,
        help="of --clock, to spend at the most (default 20); on a busy machine up to 20 times as long",
    )
    command.add_argument("--threads", type=int, default=0, help="threads of a run (default: all)")
    command.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall", help="cpu: the time of this process on CPUs"
    )
    command.add_argument(
        "--dim", action="append", default=[], metavar="NAME=SIZE", help="of a free dimension"
    )
    command.add_argument("--seed", type=seed, default=0, help="of the random inputs")
    command.add_argument("--markdown", metavar="FILE", help="write the verdict for a comment")
    command.add_argument("--junit", metavar="FILE", help="write the verdict as a test case")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=gate, parser=command)


def share(text: str) -> float:
    """5% or 0.05; more than the whole only by a %, for who writes 5 means 5%. Raises AscendError E10001."""
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        found = -1.0
    if not 0 < found < (10 if text.endswith("%") else 1):
        raise AscendError("E10001", text, "--max-slowdown", "It is a share as 5% or 0.05.")
    return found


def gate(given: argparse.Namespace) -> int:
    from ascend_ep.cli.om_inputs import input_arrays
    from ascend_ep.profiling.gate import baseline_bundle, judge, junit, markdown, record

    if given.record:
        refuse_unused(given, COMPARING, "--record compares nothing.")
    for flag in ("record", "markdown", "junit"):
        check_target(getattr(given, flag) or "", f"--{flag}")
    allowed = share(given.max_slowdown)
    path = Path(given.bundle)
    new = open_bundle(path, given.threads)
    if given.record:
        record(path, Path(given.record))
        print(f"{given.record}: the baseline is {path}")
        return 0
    if not given.baseline:
        raise AscendError("E10004", "baseline", fix="Give --baseline=B.json, or --record=B.json first.")
    old = open_bundle(baseline_bundle(Path(given.baseline)), given.threads)
    feeds = input_arrays(new, [], given.dim, given.seed)
    clock = time.process_time if given.clock == "cpu" else None
    verdict = judge(old, new, feeds, allowed, given.max_error, given.seconds, clock)
    text = markdown(path.name, verdict)
    for flag, content in (("markdown", text), ("junit", junit(path.name, verdict))):
        if target := getattr(given, flag):
            write_renamed(Path(target), content, f"--{flag}")
    print(json.dumps(verdict.as_json(), indent=2) if given.json else text)
    return 0 if verdict.passed else 1


def open_bundle(path: Path, threads: int) -> Any:
    from ascend_ep.runtime.session import open_with_threads

    regular_file.need(path)
    return open_with_threads(path, threads)
