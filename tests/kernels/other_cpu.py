"""The kernels of another CPU, in a process that $ASCEND_EP_TEST_KERNELS starts: the program `serve_kernels`
(native/test) under an emulator, as tools/test_arm starts it. Without the variable kernels are this machine's.
"""

from __future__ import annotations

import os
import shlex
import struct
import subprocess
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ascend_ep.runtime._rt import ffi, lib

GUARD = 64  # bytes on both sides of an output
NAME = 16  # bytes of a level's name


class OtherCpu:
    """levels: the names of those it supports, by number."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        (count,) = struct.unpack("<i", self._read(4))
        levels = {i: struct.unpack(f"<i{NAME}s", self._read(4 + NAME)) for i in range(count)}
        self.levels = {i: name.rstrip(b"\0").decode() for i, (known, name) in levels.items() if known}

    def _read(self, count: int) -> bytes:
        assert self._process.stdout is not None
        got = self._process.stdout.read(count)
        assert len(got) == count, f"the other CPU's process ended: {self._process.wait(10)}"
        return got

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()

    def call(
        self,
        op: str,
        tensors: tuple[Any, Any],
        inputs: list[tuple[int, bytes]],
        outputs: list[np.ndarray],
        ints: list[int],
        floats: list[float],
        isa: int,
        threads: int,
        status: Any,
    ) -> int:
        """As asc_kernel_call. `tensors`: of inputs and outputs. Each of `inputs` is the place of the operand
        and the bytes that it lies in, each of `outputs` one of bytes, with GUARD of them on both sides."""
        places = [*(place for place, _ in inputs), *(GUARD for _ in outputs)]
        operands = [
            t for side, many in zip(tensors, (inputs, outputs), strict=True) for t in side[0 : len(many)]
        ]
        texts = [bytearray(ffi.buffer(ffi.addressof(tensor))) for tensor in operands]
        for text, place in zip(texts, places, strict=True):
            text[:8] = struct.pack("<q", place)
        sizes = [*(len(memory) for _, memory in inputs), *(memory.nbytes for memory in outputs)]
        counts = (len(inputs), len(outputs), len(ints), len(floats))
        assert self._process.stdin is not None
        for part in [
            struct.pack("<64s2i4I", op.encode(), isa, threads, *counts),
            *texts,
            struct.pack(f"<{len(sizes)}Q{len(ints)}q{len(floats)}d", *sizes, *ints, *floats),
            *(memory for _, memory in inputs),
        ]:
            self._process.stdin.write(part)
        self._process.stdin.flush()
        (code,) = struct.unpack("<i", self._read(4))
        ffi.buffer(status)[:] = self._read(ffi.sizeof("asc_status"))
        for memory in outputs:
            memory[:] = np.frombuffer(self._read(memory.nbytes), np.uint8)
        return int(code)


@cache
def other_cpu() -> OtherCpu | None:
    command = os.environ.get("ASCEND_EP_TEST_KERNELS", "")
    return OtherCpu(shlex.split(command)) if command else None


def reached(array: np.ndarray) -> tuple[int, bytes]:
    """The bytes that an array's strides reach, from a multiple of 64 on, and where among them it begins."""
    if array.size == 0:
        return 0, b""
    low, high = byte_bounds(array)
    start = low - low % 64
    return array.ctypes.data - start, bytes(ffi.buffer(ffi.cast("char *", start), high - start))


def levels() -> dict[int, str]:
    """The names of the ISA levels that kernels may be called at, by number, lowest first."""
    other = other_cpu()
    if other is not None:
        return other.levels
    return {
        i: ffi.string(lib.asc_isa_name(i)).decode()
        for i in range(lib.ASC_ISA_COUNT)
        if lib.asc_isa_supported(i)
    }
