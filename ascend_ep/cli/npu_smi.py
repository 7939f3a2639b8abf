"""npu-smi: the table that `npu-smi info` prints, with what is true of simulated devices.

A device is a part of this machine: it has no power, temperature, bus or huge pages of its own (NA), the load
is that of the CPU, and its memory is what programs that run on AscendCL here have in use."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ascend_ep.cli.device_state import Device, devices

_WIDE = "+" + "-" * 96 + "+"
_RULE = "+" + "-" * 27 + "+" + "-" * 15 + "+" + "-" * 52 + "+"
_DOUBLE = _RULE.replace("-", "=")
VERSION = "25.0.0"


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("what", nargs="?", choices=["info"], default="info", help="the table of all devices")
    command.add_argument("-l", dest="list", action="store_true", help="list the devices")
    command.add_argument("-m", dest="map", action="store_true", help="the numbers of the devices' chips")
    command.add_argument(
        "-t",
        dest="type",
        choices=("board", "memory", "usages", "common"),
        help="one kind of facts: board, memory, usages, common",
    )
    command.add_argument("-i", dest="device", type=int, metavar="ID", help="of this device")


def run(given: argparse.Namespace) -> int:
    found = devices()
    chosen = [d for d in found if given.device in (None, d.number)]
    if not chosen:
        print(f"The device {given.device} doesn't exist; there are 0 to {len(found) - 1}.")
        return 1
    if given.list:
        print(listing(chosen), end="")
    elif given.map:
        print(chips(chosen), end="")
    elif given.type:
        print(facts(chosen, given.type), end="")
    else:
        print(table(found), end="")
    return 0


def table(found: list[Device]) -> str:
    lines = [
        _WIDE,
        f"| npu-smi {VERSION:<24} Version: {VERSION:<53}|",
        _RULE,
        f"| {'NPU   Name':<26}| {'Health':<14}| {'Power(W)    Temp(C)           Hugepages-Usage(page)':<51}|",
        f"| {'Chip':<26}| {'Bus-Id':<14}| {'AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)':<51}|",
        _DOUBLE,
    ]
    load = cpu_load()
    for device in found:
        used, total = device.used >> 20, device.total >> 20
        lines += [
            f"| {device.number:<6}{device.chip:<20}| {'OK':<14}| {'NA':<12}{'NA':<18}{'0    / 0':<21}|",
            f"| {0:<26}| {'NA':<14}| {load:<12}{'0    / 0':<18}{f'{used:<5}/ {total}':<21}|",
            _RULE,
        ]
    lines[-1] = _DOUBLE
    head = f"| {'NPU     Chip':<26}| {'Process id':<14}| {'Process name':<25}| {'Process memory(MB)':<24}|"
    rule = "+" + "-" * 27 + "+" + "-" * 15 + "+" + "-" * 26 + "+" + "-" * 25 + "+"
    lines[-1] = _RULE if not found else lines[-1]
    lines += [head, rule.replace("-", "=")]
    for device in found:
        for process in device.processes:
            text = f"{device.number:<8}{0}"
            memory = f"{process.used >> 20}"
            lines.append(f"| {text:<26}| {process.pid:<14}| {process.name[:24]:<25}| {memory:<24}|")
        if not device.processes:
            lines.append(f"| {f'No running processes found in NPU {device.number}':<95}|")
        lines.append(rule)
    return "\n".join(lines) + "\n"


def listing(found: list[Device]) -> str:
    lines = [f"\t{'Total Count':<30}: {len(found)}", ""]
    for device in found:
        lines += [f"\t{'NPU ID':<30}: {device.number}", f"\t{'Chip Count':<30}: 1", ""]
    return "\n".join(lines) + "\n"


def chips(found: list[Device]) -> str:
    lines = [f"\t{'NPU ID':<31}{'Chip ID':<31}{'Chip Logic ID':<31}{'Chip Name'}"]
    lines += [f"\t{d.number:<31}{0:<31}{d.number:<31}{d.chip} (simulated)" for d in found]
    return "\n".join(lines) + "\n"


def facts(found: list[Device], kind: str) -> str:
    lines = []
    for device in found:
        rows = {"NPU ID": str(device.number), "Chip Name": f"{device.chip} (simulated on a CPU)"}
        if kind in ("memory", "usages", "common"):
            rows |= {
                "HBM Capacity(MB)": str(device.total >> 20),
                "HBM Usage Rate(%)": str(100 * device.used // device.total),
            }
        if kind in ("usages", "common"):
            rows["Aicore Usage Rate(%)"] = str(cpu_load())
        if kind == "board":
            rows |= {"Software Version": VERSION, "Bus ID": "NA", "Serial Number": "NA"}
        lines += [f"\t{key:<31}: {value}" for key, value in rows.items()]
        lines.append("")
    return "\n".join(lines) + "\n"


def cpu_load() -> int:
    """Percent of this process' CPUs that were busy in the last minute."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    first = (
        Path("/proc/loadavg").read_text(encoding="ascii").split()[0]
        if Path("/proc/loadavg").exists()
        else "0"
    )
    return min(100, round(100 * float(first) / there))
