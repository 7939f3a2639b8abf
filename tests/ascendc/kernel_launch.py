"""Ascend C kernels of tests, compiled once for a test run, and launched on arrays."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from ascend_ep.codegen.header_text import HEADERS

COMPILER = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
#: A kernel's kind: which cores its blocks run on; ITS_OWN: as the kernel says.
VECTOR, CUBE, MIXED, ITS_OWN = range(4)
#: C++ names of element types.
C_TYPES: Mapping[np.dtype[Any], str] = {
    np.dtype(np.float16): "half",
    BFLOAT16: "bfloat16_t",
    np.dtype(np.float32): "float",
    np.dtype(np.int8): "int8_t",
    np.dtype(np.int32): "int32_t",
}


class KernelFault(Exception):
    """What the twin reports of a kernel; `line` is that of the program's text."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


@dataclass(frozen=True)
class Program:
    """A compiled program. name: which of several that are compiled together."""

    path: Path
    name: str = ""

    def __call__(
        self,
        numbers: Sequence[int],
        inputs: Sequence[np.ndarray[Any, Any]],
        outputs: Sequence[np.ndarray[Any, Any]],
        *,
        cores: int = 1,
        kind: int = VECTOR,
        ratio: int = 1,
        tracked: bool = True,
    ) -> list[np.ndarray[Any, Any]]:
        """The outputs, whose arrays say what was there before, after the launch. Raises KernelFault.

        tracked: reading what nothing has written of an output is an error.
        """
        arrays = [(a, 0) for a in inputs] + [(a, 1 if tracked else 2) for a in outputs]
        request = [struct.pack("<5Q", cores, kind, ratio, len(numbers), len(arrays))]
        request.append(struct.pack(f"<{len(numbers)}q", *numbers))
        for array, written in arrays:
            data = np.ascontiguousarray(array).tobytes()
            request.append(struct.pack("<2Q", len(data), written) + data)
        answer = subprocess.run(
            [str(self.path), self.name], input=b"".join(request), capture_output=True, timeout=120, check=True
        )
        length, line = struct.unpack_from("<Qq", answer.stdout)
        if length:
            raise KernelFault(answer.stdout[16 : 16 + length].decode(), line)
        at, found = 16, []
        for array in outputs:
            found.append(
                np.frombuffer(answer.stdout, array.dtype, array.size, at).reshape(array.shape).copy()
            )
            at += array.nbytes
        return found


def compile_program(source: Path, folder: Path, standard: str = "c++17") -> Program:
    """The program of a source that includes launch_program.h, made in a folder."""
    made = folder / source.stem
    command = [str(COMPILER), f"-std={standard}", "-O0", "-Wall", "-Wextra", "-Werror", "-pthread"]
    command += [f"-I{HEADERS / 'ascendc'}", str(source), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return Program(made)
