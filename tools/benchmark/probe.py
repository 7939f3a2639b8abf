"""The machine's limits, measured between the slots of the backends: see probe.c."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

NATIVE = Path(__file__).resolve().parents[2] / "native"
SOURCE = Path(__file__).with_name("probe.c")
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC", "-pthread", "-DASC_ISA=probe")
#: Seconds given to each of the five measurements of one slot.
PORTION = 0.02


@dataclass(frozen=True)
class Limits:
    """Seconds to move the bytes of a row once, and rates: operations and exponentials a second."""

    move_seconds: float
    flops: float
    bf16_flops: float
    exponentials: float

    def as_json(self) -> dict[str, float]:
        return asdict(self)


def compile_probe(folder: Path) -> Path | None:
    """The probe as a library, or None when no C compiler is at hand."""
    compiler = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "probe.so"
    includes = [f"-I{NATIVE / part}" for part in ("kernels", "core", "include")]
    command = [compiler, *FLAGS, *includes, str(SOURCE), "-o", str(target), "-lm"]
    subprocess.run(command, check=True)
    return target


class Probe:
    """The library, for rows that read and write so many bytes."""

    def __init__(self, path: str, threads: int) -> None:
        self.library = ctypes.CDLL(path)
        self.threads = threads
        for name in ("probe_fma", "probe_bf16", "probe_exp", "probe_move"):
            getattr(self.library, name).restype = ctypes.c_double

    def rate(self, name: str) -> float:
        return float(getattr(self.library, name)(ctypes.c_int(self.threads), ctypes.c_double(PORTION)))

    def move(self, reads: int, writes: int) -> float:
        """The faster of plain and streaming stores."""
        found: list[float] = [
            self.library.probe_move(
                ctypes.c_int64(reads),
                ctypes.c_int64(writes),
                ctypes.c_int(streaming),
                ctypes.c_int(self.threads),
                ctypes.c_double(PORTION),
            )
            for streaming in (0, 1)
        ]
        return min(found)

    def limits(self, reads: int, writes: int) -> Limits:
        rates = (self.rate(name) for name in ("probe_fma", "probe_bf16", "probe_exp"))
        return Limits(self.move(reads, writes), *rates)
