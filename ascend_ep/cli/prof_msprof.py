"""msprof's own command line: `ascend-prof msprof --application="..." --output=DIR`, --export, --analyze.

What records things that a CPU doesn't have is taken, and said to record nothing.
"""

from __future__ import annotations

import os
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
#: Switches about hardware, processes or the system that aren't here.
NOTHING = {
    *("aicpu", "l2", "ge-api", "msproftx", "mstx-domain-include", "mstx-domain-exclude"),
    *("aic-freq", "aic-mode", "sys-hardware-mem", "sys-hardware-mem-freq", "sys-cpu-profiling"),
    *("sys-cpu-freq", "sys-profiling", "sys-sampling-freq", "sys-pid-profiling", "sys-pid-sampling-freq"),
    *("sys-io-profiling", "sys-io-sampling-freq", "sys-interconnection-profiling", "sys-devices"),
    *("sys-interconnection-freq", "dvpp-profiling", "dvpp-freq", "llc-profiling", "sys-period", "delay"),
    *("duration", "dynamic", "pid", "host-sys", "host-sys-pid", "host-sys-usage", "host-sys-usage-freq"),
    *("instr-profiling", "instr-profiling-freq", "iteration-id", "model-id", "rule", "summary-format"),
}
OURS = {
    *("application", "output", "aic-metrics", "export", "analyze", "parse", "query", "type", "storage-limit"),
    *("clear", "help", "environment", "python-path", "model-time", "soc_version"),
}
#: Flags whose value may be the next word.
VALUED = {
    "application",
    "output",
    "aic-metrics",
    "type",
    "storage-limit",
    "environment",
    "python-path",
    "soc_version",
}


def main(words: Sequence[str]) -> int:
    """Runs one command line of msprof. Raises AscendError."""
    if words[:1] == ["op"]:
        from ascend_ep.cli.prof_op import main as op

        return op(words[1:])
    flags, command = _parse(words)
    if "help" in flags or not words:
        print(__doc__.strip().splitlines()[0])
        print("flags:", " ".join(f"--{name}" for name in sorted(OURS)))
        return 0
    for name in flags:
        if name in NOTHING and flags[name] not in ("off", ""):
            print(
                f"[WARNING] --{name}={flags[name]}: there is nothing of it to record on a CPU",
                file=sys.stderr,
            )
    if flags.get("python-path"):
        print(
            "[WARNING] --python-path isn't needed: the Python of this command reads the data", file=sys.stderr
        )
    for name in ("export", "parse", "query"):
        if flags.get(name, "on") not in ("on", "off", ""):
            raise AscendError("E10001", flags[name], f"--{name}", "It is on or off.")
    output = flags.get("output", "")
    if flags.get("analyze") == "kernel":
        return _kernel(output or ".", _rates(flags))
    if any(
        flags.get(name) in ("on", "") for name in ("export", "parse", "analyze", "query") if name in flags
    ):
        return _export(output or ".", flags)
    command = shlex.split(flags["application"]) if flags.get("application") else command
    if not command:
        raise AscendError(
            "E10004", "application", fix='Give --application="COMMAND ..." or the command itself.'
        )
    return _run(command, output or ".", flags)


def _parse(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The flags, and the command behind them. Raises AscendError E44005."""
    flags: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0].startswith("--"):
        name, given, value = rest.pop(0)[2:].partition("=")
        if name in VALUED and not given and rest:
            value = rest.pop(0)
        if name not in OURS | ALWAYS | NOTHING:
            near = nearest(name, OURS | ALWAYS | NOTHING)
            raise AscendError("E44005", name, f" Did you mean --{near[0]}?" if near else "")
        flags[name] = value
    return flags, rest


def _run(command: list[str], output: str, flags: dict[str, str]) -> int:
    from ascend_ep.cli.prof_collect import collect

    limit = flags.get("storage-limit", "").upper().removesuffix("MB")
    if limit and not limit.isdigit():
        raise AscendError("E10001", flags["storage-limit"], "--storage-limit", "It is a number of MB.")
    for setting in filter(None, flags.get("environment", "").split(";")):
        name, given, value = setting.partition("=")
        if not given:
            raise AscendError("E10001", setting, "--environment", "Write NAME=VALUE, several with ;.")
        os.environ[name] = value
    metrics, rates = flags.get("aic-metrics", ""), _rates(flags)
    return collect(command, output, metrics, True, int(limit or 0), False, rates, as_msprof=True)


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

    kind, rates = flags.get("type", "text"), _rates(flags)
    if kind not in ("text", "db"):
        raise AscendError("E10001", kind, "--type", "The value must be text or db.")
    if rates and kind != "text":
        raise AscendError("E10001", kind, "--type", "Only text files have columns model_...")
    profile = own(open_profile(folder))
    metrics = flags.get("aic-metrics", "") or DEFAULT
    written = write_files(profile, metrics, rates) if kind == "text" else []
    if "analyze" in flags:
        written.append(write_findings(findings(profile, measure()), profile.folder / OUTPUT))
    print(*written, write_database(profile), sep="\n")
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
