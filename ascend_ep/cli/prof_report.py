"""`ascend-prof report`: a profile, or a bundle that is profiled for it, as one HTML page."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_ep.cli.atc_files import check_target
from ascend_ep.cli.command import refuse_unused, seconds
from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    from ascend_ep.profiling.profile import Profile


def add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "write a page: timeline, roofline, time by operator, layer and source line, memory"
    command = commands.add_parser("report", help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("source", metavar="DIR|M.om", help="a profile, or a bundle to run on random inputs")
    command.add_argument("--output", default="profile.html", metavar="FILE", help="default: profile.html")
    command.add_argument("--seconds", type=seconds, default=1.0, help="to run a bundle (default 1)")
    command.add_argument("--threads", type=int, default=0, help="threads of a run (default: all)")
    command.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="of a free axis")
    command.add_argument(
        "--model",
        metavar="M.onnx",
        help="of torch.onnx.export(dynamo=True): time by layer and line of its source",
    )
    command.add_argument(
        "--annotate", metavar="FILE.onnx", help="--model with the measured times in its nodes, for Netron"
    )
    command.add_argument("--beside", metavar="DIR|M.om", help="another profile or bundle, to compare with")
    command.set_defaults(run=report, parser=command)


def report(given: argparse.Namespace) -> int:
    from ascend_ep.profiling.annotated_model import check_folder, write_annotated
    from ascend_ep.profiling.machine import measure
    from ascend_ep.profiling.profile import open_profile
    from ascend_ep.profiling.report import write_report
    from ascend_ep.profiling.source_lines import read_model, sources_of

    def profile_of(text: str) -> Profile:
        if not _is_bundle(text):
            return open_profile(text)
        return profile_bundle(Path(text), given.threads, given.dim, given.seconds)

    check_target(given.output, "--output")
    check_annotated(given)
    if not any(_is_bundle(text) for text in (given.source, given.beside) if text):
        refuse_unused(given, ("seconds", "dim"), "It is for a bundle, which is run; a profile was recorded.")
    model = read_model(Path(given.model)) if given.model else None
    if model is not None and given.annotate:
        check_folder(model, Path(given.model), Path(given.annotate))
    sources = sources_of(model) if model is not None else None
    beside = profile_of(given.beside) if given.beside else None
    profile = profile_of(given.source)
    machine = measure(given.threads)
    write_report(profile, machine, Path(given.output), sources, beside)
    if given.model and not sources and not given.annotate:
        print(
            f"{given.model} doesn't say where its nodes come from: export with dynamo=True", file=sys.stderr
        )
    print(given.output)
    if model is not None and given.annotate:
        write_annotated(model, Path(given.model), profile, machine, Path(given.annotate))
        print(given.annotate)
    return 0


def _is_bundle(text: str) -> bool:
    return not Path(text).is_dir() and Path(text).suffix != ".csv"


def check_annotated(given: argparse.Namespace) -> None:
    """Whether --annotate can be written, and no other file of the command line is lost by it.

    Raises AscendError E10001 and E10004.
    """
    target = given.annotate
    if target is None:
        return
    if not given.model:
        raise AscendError("E10004", "model", fix="Give the ONNX model beside --annotate: --model=M.onnx.")
    if target in ("", "-"):
        raise AscendError("E10001", target, "--annotate", "It is no name of a file.")
    check_target(target, "--annotate")
    for flag, other in (("--model", given.model), ("--output", given.output), ("--beside", given.beside)):
        if other and os.path.realpath(other) == os.path.realpath(target):
            raise AscendError("E10001", target, "--annotate", f"It is the file of {flag}; give another name.")
    if os.path.realpath(given.source) == os.path.realpath(target):
        raise AscendError("E10001", target, "--annotate", "It is the bundle; give another name.")


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
