"""The simulated devices, and the memory that programs on AscendCL have in use on them.

libascendcl keeps a file for each process in $ASCEND_EP_DEVICE_STATE, by default `ascend_ep-devices-UID` in
the system's folder for temporary files: a line `device bytes` for each device on which it has memory."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.cann.device_count import USUAL, device_count
from ascend_ep.errors import AscendError

STATE = "ASCEND_EP_DEVICE_STATE"


@dataclass(frozen=True)
class Process:
    """`used`: bytes."""

    pid: int
    name: str
    used: int


@dataclass(frozen=True)
class Device:
    """`used` and `total`: bytes."""

    number: int
    chip: str
    used: int
    total: int
    processes: tuple[Process, ...]


def state_folder() -> Path:
    return Path(os.environ.get(STATE) or f"{tempfile.gettempdir()}/ascend_ep-devices-{os.getuid()}")


def devices() -> list[Device]:
    """All of them, as libascendcl counts them (ASCEND_EP_DEVICES, ASCEND_EP_DEVICE_MEMORY, ASCEND_EP_SOC)."""
    try:
        count = device_count()
    except AscendError:
        count = USUAL  # as libascendcl does, which warns
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    mebibytes = _number("ASCEND_EP_DEVICE_MEMORY", 1, 1 << 30, 0)
    total = mebibytes << 20 if mebibytes else machine // count
    chip = (os.environ.get("ASCEND_EP_SOC") or "Ascend910B3").removeprefix("Ascend")
    found = _processes()
    return [
        Device(i, chip, sum(p.used for p in found.get(i, ())), total, tuple(found.get(i, ())))
        for i in range(count)
    ]


def _number(name: str, least: int, most: int, otherwise: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() and least <= int(text) <= most else otherwise


def _processes() -> dict[int, list[Process]]:
    found: dict[int, list[Process]] = {}
    folder = state_folder()
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not file.name.isdecimal() or not Path(f"/proc/{file.name}").exists():
            continue
        try:
            name = Path(f"/proc/{file.name}/comm").read_text(encoding="utf-8").strip()
            rows = [line.split() for line in file.read_text(encoding="ascii").splitlines()]
        except OSError:
            continue
        for row in rows:
            if len(row) == 2 and row[0].isdecimal() and row[1].isdecimal():
                found.setdefault(int(row[0]), []).append(Process(int(file.name), name, int(row[1])))
    return found
