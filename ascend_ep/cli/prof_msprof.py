"""msprof's own command line: `ascend-prof msprof --application="..." --output=DIR`, --export, --analyze.

What records things that a CPU doesn't have, and what has no effect beside the other flags, is said.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_ep.errors import AscendError, nearest

if TYPE_CHECKING:
    from ascend_ep.cann.chip_rates import ChipRates

#: Switches whose content a trace always has.
ALWAYS = {"ai-core", "task-time", "ascendcl", "model-execution", "runtime-api", "hccl"}
#: Flags without an effect, and why.
NOTHING = {
    **dict.fromkeys(
        (
            *("aicpu", "l2", "ge-api", "aic-freq", "aic-mode", "dvpp-profiling", "dvpp-freq"),
            *("sys-hardware-mem", "sys-hardware-mem-freq", "sys-io-profiling", "sys-io-sampling-freq"),
            *("sys-interconnection-profiling", "sys-interconnection-freq", "llc-profiling", "sys-devices"),
            *("instr-profiling", "instr-profiling-freq"),
        ),
        "there is nothing of it to record on a CPU",
    ),
    **dict.fromkeys(
        (
            *("sys-cpu-profiling", "sys-cpu-freq", "sys-profiling", "sys-sampling-freq", "sys-pid-profiling"),
            *("sys-pid-sampling-freq", "sys-period", "host-sys", "host-sys-pid", "host-sys-usage"),
            "host-sys-usage-freq",
        ),
        "what else this machine does isn't recorded",
    ),
    **dict.fromkeys(("msproftx", "mstx-domain-include", "mstx-domain-exclude"), "marks aren't recorded"),
    **dict.fromkeys(
        ("delay", "duration", "dynamic", "pid"), "a command is recorded from its start to its end"
    ),
}
#: Flags of an export without an effect, and why.
EXPORTING = {
    "iteration-id": "all iterations are exported",
    "model-id": "all models are exported",
    "rule": "there is one set of rules",
    "summary-format": "tables are written as csv",
}
#: What is done with a profile that is there.
MODES = {"export", "analyze", "parse", "query"}
#: Flags whose value may be the next word; those that are also switches take it if it looks like one.
VALUED = {
    *("application", "output", "aic-metrics", "type", "storage-limit", "environment", "python-path"),
    "soc_version",
}
OURS = {*VALUED, *MODES, "clear", "help", "model-time"}
SWITCHED = re.compile(r"on|off|l[012]|text|db|csv|json|[a-z_]+-based|\d+(,\d+)*", re.IGNORECASE)
FLAGS = {*OURS, *ALWAYS, *NOTHING, *EXPORTING}
#: Flags that nothing but a recording takes.
RECORDING = {"application", "environment", "storage-limit", *ALWAYS, *NOTHING}


def main(words: Sequence[str]) -> int:
    """Runs one command line of msprof. Raises AscendError."""
    if words[:1] == ["op"]:
        from ascend_ep.cli.prof_op import main as op

        return op(words[1:])
    flags, command = _parse(words)
    if "help" in flags or not words:
        print(__doc__.strip().splitlines()[0])
        print("flags:", " ".join(f"--{name}" for name in sorted(OURS)))
        print("without effect:", " ".join(f"--{name}" for name in sorted(FLAGS - OURS)))
        return 0
    _tell(flags)
    output = flags.get("output", "")
    modes = [name for name in ("query", "analyze", "export", "parse") if _is_on(flags, name)]
    if modes:
        if command:
            reason = f"--{modes[0]} reads what was recorded, and runs no command."
            raise AscendError("E10001", " ".join(command), "application", reason)
        return _read(modes, output or ".", flags)
    if flags.get("application") and command:
        reason = "There is a command behind the flags, too."
        raise AscendError("E10001", flags["application"], "--application", reason)
    command = shlex.split(flags["application"]) if flags.get("application") else command
    if not command:
        raise AscendError(
            "E10004", "application", fix='Give --application="COMMAND ..." or the command itself.'
        )
    return _run(command, output or ".", flags)


def _is_on(flags: dict[str, str], name: str) -> bool:
    """Whether a switch is on. Raises AscendError E10001."""
    value = flags.get(name, "off") or "on"
    taken = ("on", "off", "kernel") if name == "analyze" else ("on", "off")
    if value not in taken:
        raise AscendError("E10001", value, f"--{name}", f"The value must be one of {', '.join(taken)}.")
    return value != "off"


def _tell(flags: dict[str, str]) -> None:
    """What of the flags has no effect here."""
    modes = [name for name in sorted(MODES) if _is_on(flags, name)]
    for name, value in flags.items():
        is_off, reason = value.lower() == "off", ""
        if modes and name in RECORDING and not is_off:
            reason = f"--{modes[0]} reads what was recorded"
        elif name in NOTHING and not is_off:
            reason = NOTHING[name]
        elif name in EXPORTING and value != "csv":
            reason = EXPORTING[name]
        elif name in ALWAYS and is_off:
            reason = "a trace always has it"
        elif name == "clear" and not is_off:
            reason = "traces stay, since `ascend-prof analyze`, `report` and `export` read them"
        elif name == "python-path":
            reason = "the Python of this command reads the data"
        elif name in ("aic-metrics", "type") and (flags.get("analyze") == "kernel" or "query" in modes):
            reason = "it is of the tables that --export writes"
        elif name == "aic-metrics" and flags.get("type") == "db":
            reason = "the database has no columns of counters"
        if reason:
            print(f"[WARNING] --{name}={value} has no effect: {reason}", file=sys.stderr)


def _read(modes: list[str], output: str, flags: dict[str, str]) -> int:
    if flags.get("analyze") == "kernel":
        return _kernel(output, _rates(flags))
    return _query(output) if modes == ["query"] else _export(output, flags)


def _parse(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The flags, and the command behind them. Raises AscendError E44005."""
    flags: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0].startswith("--"):
        name, given, value = rest.pop(0)[2:].partition("=")
        if name not in FLAGS:
            near = nearest(name, FLAGS)
            raise AscendError("E44005", name, f" Did you mean --{near[0]}?" if near else "")
        if not given and rest and (name in VALUED or SWITCHED.fullmatch(rest[0])):
            value = rest.pop(0)
        flags[name] = value
    return flags, rest


def _run(command: list[str], output: str, flags: dict[str, str]) -> int:
    from ascend_ep.cli.prof_collect import collect

    limit = flags.get("storage-limit", "").upper().removesuffix("MB")
    if limit and not limit.isdecimal():
        raise AscendError("E10001", flags["storage-limit"], "--storage-limit", "It is a number of MB.")
    for setting in filter(None, flags.get("environment", "").split(";")):
        name, given, value = setting.partition("=")
        if not given:
            raise AscendError("E10001", setting, "--environment", "Write NAME=VALUE, several with ;.")
        os.environ[name] = value
    metrics, rates, kind = flags.get("aic-metrics", ""), _rates(flags), _type(flags)
    return collect(command, output, metrics, True, int(limit or 0), False, rates, as_msprof=kind)


def _type(flags: dict[str, str]) -> str:
    """text or db, of which the first has both. Raises AscendError E10001."""
    kind = flags.get("type") or "text"
    if kind not in ("text", "db"):
        raise AscendError("E10001", kind, "--type", "The value must be text or db.")
    if kind == "db" and flags.get("model-time", "off") != "off":
        raise AscendError("E10001", kind, "--type", "Only text files have columns model_...")
    return kind


def _rates(flags: dict[str, str]) -> ChipRates | None:
    from ascend_ep.cli.prof_collect import model_rates

    value = flags.get("model-time", "off") or "on"
    if value not in ("on", "off"):
        raise AscendError("E10001", value, "--model-time", "The value must be on or off.")
    return model_rates(value == "on", flags.get("soc_version", ""))


def _export(folder: str, flags: dict[str, str]) -> int:
    from ascend_ep.profiling.export import write_database, write_files
    from ascend_ep.profiling.machine import measure
    from ascend_ep.profiling.metrics import DEFAULT
    from ascend_ep.profiling.msprof_files import OUTPUT
    from ascend_ep.profiling.profile import open_profile, own
    from ascend_ep.profiling.rules import findings, write_findings

    kind, rates = _type(flags), _rates(flags)
    profile = own(open_profile(folder))
    metrics = flags.get("aic-metrics", "") or DEFAULT
    written = write_files(profile, metrics, rates) if kind == "text" else []
    if "analyze" in flags:
        written.append(write_findings(findings(profile, measure()), profile.folder / OUTPUT))
    print(*written, write_database(profile), sep="\n")
    return 0


def _query(folder: str) -> int:
    """What was recorded: a line for each model of each process, with each set of shapes that it ran with."""
    import numpy as np

    from ascend_ep.profiling.profile import open_profile

    profile = open_profile(folder)
    rows = [("Job Info", "Device ID", "Dir Name", "Collection Time", "Model ID", "Iteration Number")]
    for number, process in enumerate(profile.processes):
        counts = np.bincount(process.runs["bound"], minlength=len(process.bounds))
        models: dict[tuple[str, int], int] = {}
        for bound in process.bounds:
            key = (bound.model, bound.model_id)
            models[key] = max(models.get(key, 0), int(counts[bound.number]))
        time = f"{profile.begun:%Y-%m-%d %H:%M:%S}"
        for (model, model_id), runs in models.items():
            job, device = model or "N/A", "host" if not profile.of_chip else str(number)
            rows.append((job, device, profile.folder.name, time, str(model_id), str(runs)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _kernel(output: str, rates: ChipRates | None) -> int:
    """Of the newest profile in the output folder or here."""
    from ascend_ep.profiling.export import write_files
    from ascend_ep.profiling.kernel_csv import metrics, write_kernel_csv
    from ascend_ep.profiling.machine import measure
    from ascend_ep.profiling.metrics import DEFAULT
    from ascend_ep.profiling.profile import open_profile

    try:
        profile = open_profile(output)
    except AscendError as error:
        if error.code != "E44002":
            raise
        profile = open_profile(".")
    machine = measure()
    if not profile.of_chip:
        write_files(profile, DEFAULT, rates)
    path = write_kernel_csv(profile, machine, Path(output))
    print(f"{profile.folder}: {path}")
    for name, value, ideal, source in metrics(profile, machine):
        print(f"| {name:26} | {value:>12} | {ideal:>9} | {source}")
    return 0
