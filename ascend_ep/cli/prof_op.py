"""msprof's command line for single operators: `ascend-prof msprof op [flags] PROGRAM ...`.

Times are those of this machine. Of a chip's counters PipeUtilization is modelled, the others are said to be
missing.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ascend_ep.errors import AscendError, nearest

if TYPE_CHECKING:
    from ascend_ep.cann.chip_rates import ChipRates

#: The group that a model of the chip fills, which is in msprof's default, too.
MODELLED = ("PipeUtilization", "Default")
#: Groups of counters, which a CPU hasn't; and what needs no counter.
COUNTERS = (
    *("ArithmeticUtilization", "L2Cache", "Memory", "MemoryL0", "MemoryUB", "PipeUtilization"),
    *("ResourceConflictRatio", "Default", "KernelScale", "Roofline", "TimelineDetail", "PipeTimeline"),
    *("Occupancy", "MemoryDetail", "Source", "PcSampling"),
)
BASIC = "BasicInfo"
#: Flags about replays, markers and dumps: operators are recorded as the program runs them, once.
AS_IT_RUNS = ("kill", "mstx", "mstx-include", "replay-mode", "warm-up", "dump", "core-id", "timeout")
VALUED = (
    *("application", "kernel-name", "launch-count", "launch-skip-before-match", "aic-metrics", "output"),
    *("soc-version", "config", "export"),
)
FLAGS = (*VALUED, *AS_IT_RUNS, "help")


def main(words: Sequence[str]) -> int:
    """Runs one command line. Raises AscendError."""
    if words[:1] == ["simulator"]:
        raise AscendError("E44012", "op simulator", "instructions aren't simulated one by one")
    flags, command = _parse(words)
    if "help" in flags or not words:
        print("msprof op [flags] PROGRAM ...: the time of single operators.")
        print("flags:", " ".join(f"--{name}" for name in sorted(FLAGS)))
        return 0
    for name in ("config", "export"):
        if name in flags:
            raise AscendError("E44012", f"op --{name}", "it reads a chip's binary or dump")
    if flags.get("application") and command:
        reason = "There is a command behind the flags, too."
        raise AscendError("E10001", flags["application"], "--application", reason)
    command = shlex.split(flags["application"]) if flags.get("application") else command
    if not command:
        raise AscendError("E10004", "application", fix="msprof op --output=DIR PROGRAM ...")
    count = _number(flags, "launch-count", 1, 5000, 1)
    skip = _number(flags, "launch-skip-before-match", 0, 1000, 0)
    names = _names(flags.get("kernel-name", ""))
    rates = _tell(flags)
    return _run(command, flags.get("output") or ".", names, count, skip, rates)


def _parse(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    flags: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        name, given, value = rest.pop(0).lstrip("-").partition("=")
        name = "help" if name == "h" else name
        if name not in FLAGS:
            near = nearest(name, FLAGS)
            raise AscendError("E44005", name, f" Did you mean --{near[0]}?" if near else "")
        if name != "help" and not given and rest:
            value = rest.pop(0)
        flags[name] = value
    return flags, rest


def _number(flags: dict[str, str], name: str, least: int, most: int, default: int) -> int:
    text = flags.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= most:
        raise AscendError("E10001", text, f"--{name}", f"It is a number from {least} to {most}.")
    return int(text)


def _names(text: str) -> re.Pattern[str] | None:
    """Prefixes of names with | between them, in which * stands for anything. None: any operator."""
    if not text:
        return None
    if not re.fullmatch(r"[\w|*]{1,1024}", text):
        reason = "It has letters, digits, _, * and |, at most 1,024 of them."
        raise AscendError("E10001", text, "--kernel-name", reason)
    parts = (".*".join(map(re.escape, name.split("*"))) for name in text.split("|") if name)
    return re.compile("|".join(parts))


def _tell(flags: dict[str, str]) -> ChipRates | None:
    """Says what of the flags has no effect here, and returns the rates of the chip that is modelled. Raises
    AscendError E10001 and E44009."""
    groups = [g for g in (flags.get("aic-metrics") or "Default").split(",") if g]
    for group in groups:
        if group not in (*COUNTERS, BASIC):
            near = nearest(group, (*COUNTERS, BASIC))
            reason = f"The value must be of {', '.join((BASIC, *COUNTERS))}."
            hint = [f"did you mean {', '.join(near)}?"] if near else []
            raise AscendError("E10001", group, "--aic-metrics", reason, details=hint)
    rates = _modelled(flags, groups)
    missing = [group for group in groups if group not in (BASIC, MODELLED[0])]
    if missing:
        written = "OpBasicInfo.csv" + (" and a model's PipeUtilization.csv" if rates else "")
        reason = f"a CPU has no such counters, so {written} is all that is written"
        print(f"[WARNING] --aic-metrics={','.join(missing)}: {reason}", file=sys.stderr)
    for name in AS_IT_RUNS:
        if flags.get(name, "off") != "off":
            reason = "operators are recorded as the program runs them, once each"
            print(f"[WARNING] --{name}={flags[name]} has no effect: {reason}", file=sys.stderr)
    return rates


def _modelled(flags: dict[str, str], groups: Sequence[str]) -> ChipRates | None:
    """Of --soc-version, where a group needs a model. Raises AscendError E10001 and E44009."""
    from ascend_ep.cann.chip_rates import chip_rates
    from ascend_ep.cann.soc import find_soc
    from ascend_ep.cli.op_run import SOC_VERSION

    if not any(group in MODELLED for group in groups):
        if chip := flags.get("soc-version"):
            reason = f"It is the chip that --aic-metrics={MODELLED[0]} models."
            raise AscendError("E10001", chip, "--soc-version", reason)
        return None
    told = flags.get("soc-version") or os.environ.get("ASCEND_EP_SOC_VERSION")
    return chip_rates(find_soc(told or SOC_VERSION))


def _run(
    command: Sequence[str],
    output: str,
    names: re.Pattern[str] | None,
    count: int,
    skip: int,
    rates: ChipRates | None,
) -> int:
    from ascend_ep.profiling.collect import run_command
    from ascend_ep.profiling.operator_files import chosen, new_folder, write_operators
    from ascend_ep.profiling.profile import open_profile
    from ascend_ep.runtime import tracing

    folder = new_folder(output)
    try:
        made = run_command(command, folder / "dump")
    except BaseException:
        tracing.remove_folder(folder)
        raise
    try:
        tasks = chosen(open_profile(made.folder), names, count, skip)
    except AscendError as error:
        if error.code != "E44002":
            raise
        tasks = []
    if not tasks:
        reason = "it ran no operator" + (" of these names" if names else "")
        print(AscendError("E44004", " ".join(command), reason), file=sys.stderr)
        return made.status or 1
    for path, task in zip(write_operators(folder, tasks, rates), tasks, strict=True):
        print(f"[INFO] {task.site.name}: {task.duration / 1000:.3f} us on this CPU, {path}")
    print(f"[INFO] Profiling results saved in {folder.resolve()}")
    return made.status
