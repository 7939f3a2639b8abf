"""`ascend-prof report`: a profile, or a bundle that is profiled for it, as one HTML page."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_ep.cli.atc_files import check_target
from ascend_ep.cli.command import positive

if TYPE_CHECKING:
    from ascend_ep.profiling.profile import Profile


def add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "write a page: timeline, roofline, time by operator, layer and source line, memory"
    command = commands.add_parser("report", help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("source", metavar="DIR|M.om", help="a profile, or a bundle to run on random inputs")
    command.add_argument("--output", default="profile.html", metavar="FILE", help="default: profile.html")
    command.add_argument("--seconds", type=positive, default=1.0, help="to run a bundle (default 1)")
    command.add_argument("--threads", type=int, default=0, help="threads of a run (default: all)")
    command.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="of a free axis")
    command.add_argument(
        "--model",
        metavar="M.onnx",
        help="of torch.onnx.export(dynamo=True): time by layer and line of its source",
    )
    command.add_argument("--beside", metavar="DIR|M.om", help="another profile or bundle, to compare with")
    command.set_defaults(run=report)


def report(given: argparse.Namespace) -> int:
    from ascend_ep.profiling.machine import measure
    from ascend_ep.profiling.profile import open_profile
    from ascend_ep.profiling.report import write_report
    from ascend_ep.profiling.source_lines import sources_of

    def profile_of(text: str) -> Profile:
        source = Path(text)
        if source.is_dir() or source.suffix == ".csv":
            return open_profile(source)
        return profile_bundle(source, given.threads, given.dim, given.seconds)

    check_target(given.output, "--output")
    sources = sources_of(Path(given.model)) if given.model else None
    beside = profile_of(given.beside) if given.beside else None
    profile = profile_of(given.source)
    write_report(profile, measure(given.threads), Path(given.output), sources, beside)
    if given.model and not sources:
        print(
            f"{given.model} doesn't say where its nodes come from: export with dynamo=True", file=sys.stderr
        )
    print(given.output)
    return 0


def profile_bundle(path: Path, threads: int, dims: Sequence[str], seconds: float) -> Profile:
    """Of runs on random inputs for so many seconds, one at least. Raises AscendError E10410, E40003 ..."""
    import ascend_ep
    from ascend_ep.cli.om_inputs import input_arrays
    from ascend_ep.cli.prof_gate import open_bundle

    session = open_bundle(path, threads)
    feeds = input_arrays(session, [], dims, 0)
    session.run(None, feeds)
    with ascend_ep.profile() as recording:
        end = time.perf_counter() + seconds
        session.run(None, feeds)
        while time.perf_counter() < end:
            session.run(None, feeds)
    profile = recording.profile
    profile.folder = path
    return profile
