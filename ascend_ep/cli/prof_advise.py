"""`ascend-prof advise m.onnx`: changes that make a model faster, each of them tried."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_ep import atomic_file, regular_file
from ascend_ep.cli.atc_files import check_target
from ascend_ep.cli.command import positive, refuse_unused, seconds
from ascend_ep.errors import AscendError, in_lines

if TYPE_CHECKING:
    import onnx

    from ascend_ep.frontends.language_model import Endpoint
    from ascend_ep.profiling.advice.tries import Change, Outcome, Trial
    from ascend_ep.profiling.roofline import Bound


#: To profile the model as it is.
LIMITS_SECONDS = 0.2
#: Flags of measuring.
MEASURING = ("seconds", "each", "threads", "dim", "atc", "clock", "json")


def add_advise(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "try what could make a model faster, and say what did"
    command = commands.add_parser("advise", help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("model", metavar="M.onnx")
    command.add_argument("--seconds", type=seconds, default=60.0, help="to spend on all changes (default 60)")
    command.add_argument("--each", type=positive, default=1.0, help="of --clock, to measure one (default 1)")
    command.add_argument("--threads", type=int, default=0, help="threads of a run (default: all)")
    command.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="default 1")
    command.add_argument("--atc", action="append", default=[], metavar="FLAG", help="flags of ascend-atc")
    command.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall", help="cpu: the process's time, for busy machines"
    )
    command.add_argument("--apply", metavar="NAME", help="write the edited model, and measure nothing")
    command.add_argument("--output", metavar="FILE", help="where --apply writes it")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument(
        "--llm-url",
        metavar="URL",
        help="OpenAI-compatible endpoint that may propose tries and words the report",
    )
    command.add_argument("--llm-model", metavar="NAME", help="the model there")
    command.set_defaults(run=advise, parser=command)


def advise(given: argparse.Namespace) -> int:
    source = Path(given.model)
    regular_file.need(source)
    model = _load(source)
    llm = _endpoint(given)
    if given.apply:
        if llm is not None:
            raise AscendError("E10001", given.llm_url, "--llm-url", "--apply measures nothing")
        refuse_unused(given, MEASURING, "--apply measures nothing.")
        return _apply(given, model)
    refuse_unused(given, ("output",), "It is where --apply writes.")
    from ascend_ep.profiling.advice.tries import Trial, ranked
    from ascend_ep.runtime.binding import lib

    threads = given.threads or int(lib.asc_threads_default())
    with tempfile.TemporaryDirectory(prefix="ascend_ep_advice_") as folder:
        trial = Trial(
            source,
            Path(folder),
            convert_model,
            lambda session: _feeds(session, given.dim),
            threads,
            given.each,
            given.atc,
            time.process_time if given.clock == "cpu" else time.perf_counter,
            0 if given.threads else len(os.sched_getaffinity(0)),
        )
        limits = _limits(trial)
        known = trial.changes(model)
        among = [*known, *_proposed(llm, limits, known)]
        outcomes = ranked(list(trial.outcomes(model, given.seconds, among)))
    if given.json:
        print(json.dumps([_as_json(o) for o in outcomes], indent=2))
        return 0
    text = in_lines(_text(source.name, outcomes, limits, given.clock))
    print(text)
    if llm is not None:
        _print_words(llm, text)
    return 0


def _endpoint(given: argparse.Namespace) -> Endpoint | None:
    """The language model of --llm-url; one that the environment names is for prose of `ascend-op build`."""
    if not given.llm_url:
        if given.llm_model:
            raise AscendError("E10001", given.llm_model, "--llm-model", "it needs --llm-url")
        return None
    from ascend_ep.frontends.language_model import Endpoint

    return Endpoint.from_environment(os.environ, given.llm_url, given.llm_model)


def _proposed(llm: Endpoint | None, limits: Sequence[Bound], known: Sequence[Change]) -> list[Change]:
    """What the language model would try besides; nothing, and a warning, where it can't be asked."""
    if llm is None:
        return []
    from ascend_ep.profiling.advice.wording import proposals

    whole = sum(b.row.usual for b in limits) or 1e-9
    bound = [{"call": b.row.name, "share": b.row.usual / whole, "class": b.kind} for b in limits[:5]]
    try:
        return list(proposals(llm, bound, known))
    except AscendError as error:
        print(f"[WARNING] no proposals: {error}", file=sys.stderr)
        return []


def _print_words(llm: Endpoint, report: str) -> None:
    from ascend_ep.profiling.advice.wording import words

    try:
        print(f"\nin the words of {llm.model}, which measured nothing:\n{words(llm, report)}")
    except AscendError as error:
        print(f"[WARNING] the report isn't worded: {error}", file=sys.stderr)


def _load(source: Path) -> onnx.ModelProto:
    from onnx.external_data_helper import load_external_data_for_model

    from ascend_ep.profiling.source_lines import read_model

    model = read_model(source)
    try:
        load_external_data_for_model(model, str(source.parent))
    except Exception as error:  # whatever onnx raises for places that are no good
        raise AscendError("E10041", source, f"its external data can't be read ({error})") from error
    return model


def _apply(given: argparse.Namespace, model: onnx.ModelProto) -> int:
    import onnx

    from ascend_ep.profiling.advice.edits import EDITS
    from ascend_ep.profiling.advice.tries import widen

    edits = {edit.name: edit.apply for edit in EDITS} | {"batch": widen}
    if given.apply not in edits or not given.output:
        names = f"--apply takes {', '.join(edits)}, with --output=FILE."
        raise AscendError("E10001", given.apply, "--apply", names)
    check_target(given.output, "--output")
    count = edits[given.apply](model)
    try:
        with atomic_file.replacing(Path(given.output)) as file:
            onnx.save(model, file)
    except OSError as error:
        raise AscendError("E40002", f"can't write [{given.output}]: {error.strerror}") from error
    print(f"{given.output}: {count} place{'s' * (count != 1)} changed")
    return 0


def convert_model(source: Path, bundle: Path, flags: Sequence[str]) -> list[str]:
    """By the command line of ascend-atc, whose words are shown where it fails."""
    from ascend_ep.cli.atc import main

    words = [f"--model={source}", "--framework=5", f"--output={bundle.with_suffix('')}", *flags]
    if not any(flag.startswith("--soc_version") for flag in flags):
        words.append("--soc_version=Ascend910B3")
    if not any(flag.startswith("--precision_mode") for flag in flags):
        words.append("--precision_mode_v2=origin")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = main(words)
    if status:
        lines = [line for line in said.getvalue().splitlines() if line.startswith("E")]
        raise AscendError("E44008", lines[0] if lines else f"exit status {status}")
    return words


def _feeds(session: Any, dims: Sequence[str]) -> dict[str, Any]:
    from ascend_ep.cli.om_inputs import input_arrays

    known = {dim.partition("=")[0] for dim in dims}
    free = {d for i in session.get_inputs() for d in i.shape if isinstance(d, str) and d.isidentifier()}
    return input_arrays(session, [], [*dims, *(f"{name}=1" for name in sorted(free - known))], 0)


def _limits(trial: Trial) -> list[Bound]:
    """The longest calls of the model as it is, and what bounds them."""
    import ascend_ep
    from ascend_ep.profiling.machine import measure
    from ascend_ep.profiling.roofline import bounds

    end = time.perf_counter() + LIMITS_SECONDS
    with ascend_ep.profile() as recording:
        trial.base.run(None, trial.feeds)
        while time.perf_counter() < end:
            trial.base.run(None, trial.feeds)
    return list(bounds(recording.profile, measure(trial.threads)))


def _as_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.change.name,
        "weakness": outcome.change.weakness,
        "gain": outcome.gain,
        "interval": [outcome.least_gain, outcome.most_gain] if outcome.comparison else None,
        "error": outcome.error,
        "helps": outcome.helps,
        "trades": outcome.trades,
        "note": outcome.note,
        "commands": outcome.commands,
    }


def _text(name: str, outcomes: Sequence[Outcome], limits: Sequence[Bound], clock: str) -> str:
    lines = []
    helping = [o for o in outcomes if o.helps]
    trading = [o for o in outcomes if o.trades]
    if helping:
        lines.append(f"{name} gains:")
        for outcome in helping:
            lines += _advice(outcome)
    else:
        lines.append(f"{name}: nothing that was tried makes it faster{' as exact as it is' * bool(trading)}.")
        lines.append(f"  {reason(limits)}")
    if trading:
        lines.append("faster, less exact:")
        for outcome in trading:
            lines += _advice(outcome)
    cpus, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    if load > 1.5 * cpus:
        others = f"others use this machine (load {load:.0f} on {cpus} CPUs):"
        lines.append(others + " --clock=cpu is surer, and" * (clock != "cpu"))
        lines.append("what threads gain can't be told now")
    rest = [o for o in outcomes if not o.helps and not o.trades]
    lines += ["", f"{'tried without gain':18} {'gain':>7} {'interval':>15} {'error':>9}"]
    lines += [_tried(outcome) for outcome in rest]
    lines += ["", "what bounds it (of what this machine attains):"]
    whole = sum(b.row.usual for b in limits) or 1e-9
    for bound in limits[:5]:
        share = f"{100 * bound.row.usual / whole:5.1f}%"
        line = f"  {share} {bound.row.name[-30:]:30} {bound.kind:24} {100 * bound.attained:5.1f}%"
        lines.append(f"{line}  {bound.row.kernel} {bound.row.schedule}".rstrip())
    return "\n".join(lines)


SHORT_CALLS = "is in calls so short that their beginning and end count: give it larger shapes"
#: What a class of calls says of a model that nothing makes faster.
WHY = {
    "memory bound": "moves data as fast as this machine's memory and caches do",
    "compute bound": "computes as fast as this machine does",
    "low pipeline": "runs kernels that attain less than half of what the machine does; no change mends it",
    "latency bound (memory)": SHORT_CALLS,
    "latency bound (compute)": SHORT_CALLS,
    "unknown": "is in host partitions and kernels whose operations aren't counted",
}


def reason(limits: Sequence[Bound]) -> str:
    """Why there is nothing to gain: the class in which most of the time is spent, and what it attains."""
    spent: dict[str, float] = {}
    for bound in limits:
        spent[bound.kind] = spent.get(bound.kind, 0.0) + bound.row.usual
    whole = sum(spent.values())
    if not whole:
        return "No kernel ran."
    kind = max(spent, key=lambda k: spent[k])
    attained = sum(b.attained * b.row.usual for b in limits if b.kind == kind) / spent[kind]
    rate = ""
    if attained > 1:
        rate = f" (from its caches, {attained:.1f} times memory's rate)" * (kind == "memory bound")
    elif attained:
        rate = f" ({100 * attained:.0f}% of its measured rate)"
    return f"{100 * spent[kind] / whole:.0f}% of its time {WHY[kind]}{rate}."


def _advice(outcome: Outcome) -> list[str]:
    c, batch = outcome.comparison, outcome.change.batch
    assert c is not None
    head = (
        f"  {outcome.change.name}: {outcome.gain:.2f} times as fast ({batch / c.high:.2f} to "
        f"{batch / c.low:.2f}), error {outcome.error:.2g}: {outcome.change.weakness}"
    )
    return [head, *(f"      {command}" for command in outcome.commands)]


def _tried(outcome: Outcome) -> str:
    c, batch = outcome.comparison, outcome.change.batch
    if c is None:
        return f"{outcome.change.name:18} {outcome.note}"
    interval = f"{batch / c.high:.2f} to {batch / c.low:.2f}"
    row = f"{outcome.change.name:18} {outcome.gain:7.2f} {interval:>15} {outcome.error:9.2g}"
    return f"{row}  {outcome.note}".rstrip()
